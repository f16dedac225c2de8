-- The head of a chain of digests over each job's history, on the job's own row: a move writes that row anyway.
-- A job from before has none until its next move; one that had ended never gets one.

alter table holdfast.job add column chain bytea;
