-- As a database was when it was made, for the next test: every row goes that its template did not have. Guards stay in place: what has not
-- ended is cancelled, and the rest is what retention may do.
create function pg_temp.be_empty() returns void
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  perform set_config('holdfast.retention', pg_current_xact_id()::text, true);
  while exists (select from holdfast.job j where j.finished_at is null) loop   -- the end of one may be the birth of another
    update holdfast.job j
       set status = 'CANCELLED', holder = null, claim_order = null, due_at = null, deadline_at = null, held_by = null, approval_id = null,
           suspect = false, reason = 'its test is over'
     where j.finished_at is null;
  end loop;
  {deletes}
  {inserts}
  {restarts}
end $$
