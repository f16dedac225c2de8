select set_config('statement_timeout', '3000', true), set_config('transaction_read_only', 'on', true), holdfast.enter(%(sees)s)
