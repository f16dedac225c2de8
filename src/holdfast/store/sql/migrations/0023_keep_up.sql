-- Upkeep says whether it has left something, so that it comes again at once: what its parts answer is how many they took.
drop function if exists holdfast.forget_nonces(int);
drop function if exists holdfast.forget_alerts(int);
drop function if exists holdfast.forget_webhooks(int);
