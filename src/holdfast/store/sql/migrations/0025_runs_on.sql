-- What runs on in a worker's process though the worker holds it no more: a suspect is not alone beside it.

alter table holdfast.worker
  add column runs_on boolean not null default false;     -- so it said when it last asked for a suspect
-- It has a parameter more: beside the one with fewer, no call of either could be told from one of the other.
drop function if exists holdfast.claim_suspect(uuid, uuid, text[], text[]);
