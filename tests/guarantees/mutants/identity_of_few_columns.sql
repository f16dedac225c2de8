-- guard: who asked for a job and what it is a retry of never change
-- dies: tests/sql/test_rules.py::test_what_a_job_is_never_changes
create or replace trigger identity_is_immutable
  before update of id, task, payload, tenant, subject, created_at, key, key_scope, parent_id, compensates on holdfast.job
  for each row when ((old.id, old.task, old.payload::text, old.tenant, old.subject, old.created_at, old.key, old.key_scope, old.parent_id, old.compensates)
                     is distinct from
                     (new.id, new.task, new.payload::text, new.tenant, new.subject, new.created_at, new.key, new.key_scope, new.parent_id, new.compensates))
  execute function holdfast.refuse('the payload, task, tenant, subject, key and origin of a job never change');
