-- Fair tenants: the line ordered by tenant first, so that whose turn it is can be found by hops along it.

-- Jobs without a tenant are one tenant of their own, called ''. An index over all of it, not two partial ones: one statement claims.
drop index holdfast.job_in_line;
create index job_in_line on holdfast.job (queue, coalesce(tenant, ''), claim_order, id)
  where claim_order is not null and not suspect;                                            -- claim, tenants_in_line

-- Tenants that get more than one job a turn. A tenant without a row has the weight 1.
create table holdfast.tenant (
  name   holdfast.name primary key,
  weight smallint not null,
  set_at timestamptz not null default holdfast.clock(),
  constraint weight_is_within_1000 check (weight between 1 and 1000)
);

-- Whose turn it was last. A hint: lost or stale, it costs somebody a turn, never a job.
create table holdfast.turn (
  queue  text primary key,
  tenant text not null,
  used   int not null                                    -- jobs of this turn that it has had
) with (fillfactor = 50);

-- The tenants of a queue as a look found them that took long, and where their lines began: a held snapshot keeps dead rows there,
-- and claims go by this until its time instead of walking them. A hint too.
create table holdfast.ring (
  queue   text primary key,
  tenants text[] not null,
  heads   timestamptz[] not null,
  until   timestamptz not null
) with (fillfactor = 50);
