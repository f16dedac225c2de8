select pg_notify('holdfast_doctor', %(said)s)
