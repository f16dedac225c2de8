-- What runs on in a worker's process though the worker holds it no more: a suspect is not alone beside it.

alter table holdfast.worker
  add column runs_on boolean not null default false;     -- so it said when it last asked for a suspect
