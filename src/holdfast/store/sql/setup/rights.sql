-- Who may do what. No login role writes a table; all writing goes through the functions. A right that a release no longer gives must be
-- revoked here, too: the auditor compares what roles may with what this says (guards.json).
revoke all on schema holdfast from public;
revoke all on all functions in schema holdfast from public;
revoke all on all tables in schema holdfast from public;

do $$
begin
  if to_regrole('holdfast_producer') is null or (select n.nspowner::regrole::text from pg_namespace n where n.nspname = 'holdfast') <> 'holdfast_owner' then
    raise notice 'holdfast: single-role set-up: the role that owns the schema does everything';
    return;
  end if;
  -- For the role, not the schema: a schema's default privileges can only add to what PUBLIC has, never take it away.
  alter default privileges for role holdfast_owner revoke execute on functions from public;
  grant usage on schema holdfast to holdfast_producer, holdfast_worker, holdfast_api, holdfast_viewer, holdfast_maint;

  grant execute on function
    holdfast.enqueue, holdfast.enqueue_many, holdfast.declare_tasks, holdfast.job_outcome, holdfast.job_report
    to holdfast_producer, holdfast_worker, holdfast_api;
  grant execute on function
    holdfast.register_tasks, holdfast.register_worker, holdfast.claim, holdfast.claim_suspect, holdfast.recover_claim,
    holdfast.beat, holdfast.fall_asleep, holdfast.stay_awake, holdfast.retire_worker, holdfast.complete, holdfast.settle,
    holdfast.save_logs, holdfast.admit_due, holdfast.sweep, holdfast.upkeep, holdfast.keep_up
    to holdfast_worker;
  grant execute on function
    holdfast.cancel, holdfast.retry, holdfast.reprioritise, holdfast.move_to_queue, holdfast.delete_job, holdfast.pause_queue, holdfast.resume_queue, holdfast.wish_of_worker
    to holdfast_api;
  grant execute on function holdfast.admit_due, holdfast.sweep, holdfast.upkeep, holdfast.keep_up to holdfast_maint;
  grant execute on function holdfast.clock, holdfast.uuid_at, holdfast.is_terminal to holdfast_worker, holdfast_api, holdfast_viewer;

  grant execute on function
    holdfast.save_step, holdfast.saved_steps, holdfast.save_checkpoint, holdfast.last_checkpoint, holdfast.report_progress, holdfast.complete_here, holdfast.is_completed_by,
    holdfast.sleep_until, holdfast.wait_for_event, holdfast.wait_for_jobs, holdfast.job_outcomes, holdfast.enqueue_children, holdfast.results_of,
    holdfast.acknowledge_stop, holdfast.copies_payload_of
    to holdfast_worker;
  grant execute on function holdfast.emit to holdfast_producer, holdfast_worker, holdfast_api;
  grant select on holdfast.step, holdfast.checkpoint, holdfast.progress, holdfast.wait, holdfast.dependency, holdfast.event, holdfast.activity to holdfast_api;

  grant select on holdfast.installed, holdfast.task, holdfast.queue, holdfast.worker
    to holdfast_producer, holdfast_worker, holdfast_api, holdfast_viewer, holdfast_maint;
  grant select on holdfast.job, holdfast.job_history, holdfast.attempt, holdfast.log_part, holdfast.sleeper, holdfast.upkeep to holdfast_api;
  grant select on holdfast.job_overview, holdfast.history_overview to holdfast_viewer, holdfast_api;

  grant execute on function
    holdfast.hand_over, holdfast.take_dispatches, holdfast.dispatch_sent, holdfast.dispatch_failed, holdfast.dispatch_cancelled
    to holdfast_worker;
  grant execute on function holdfast.callback to holdfast_worker, holdfast_api;
  grant execute on function holdfast.hidden_of to holdfast_worker, holdfast_api;
  grant execute on function holdfast.check_run to holdfast_producer, holdfast_worker, holdfast_api;
  grant select on holdfast.dispatch to holdfast_api;
  grant execute on function holdfast.pause_task, holdfast.resume_task, holdfast.set_flag, holdfast.limit_queue, holdfast.hold_facts to holdfast_api;
  grant execute on function holdfast.rollout_position, holdfast.rollout_bucket
    to holdfast_producer, holdfast_worker, holdfast_api, holdfast_viewer;
  grant select on holdfast.flag, holdfast.slot, holdfast.rate_slot, holdfast.rate_wait to holdfast_api;
  grant execute on function holdfast.register_schedules, holdfast.due_schedules, holdfast.fire_schedule to holdfast_worker;
  grant execute on function
    holdfast.create_schedule, holdfast.edit_schedule, holdfast.delete_schedule, holdfast.pause_schedule, holdfast.resume_schedule, holdfast.run_schedule
    to holdfast_api;
  grant select on holdfast.schedule, holdfast.schedule_run to holdfast_api;
  grant select on sequence holdfast.refusal to holdfast_api;
  grant execute on function holdfast.set_tenant_weight to holdfast_api;
  grant select on holdfast.tenant to holdfast_viewer, holdfast_api;
  grant execute on function holdfast.ask to holdfast_worker;
  grant execute on function holdfast.decide, holdfast.approve_together, holdfast.decide_by_token, holdfast.look_by_token to holdfast_api;
  grant execute on function holdfast.mint_token to holdfast_worker, holdfast_api;   -- whoever delivers
  grant select on holdfast.approval, holdfast.approval_decision to holdfast_api;    -- tokens' hashes are for nobody
  grant execute on function holdfast.project to holdfast_worker, holdfast_maint;
  grant execute on function holdfast.publish to holdfast_producer, holdfast_worker, holdfast_api;
  grant execute on function holdfast.read_feed to holdfast_api, holdfast_viewer;
  grant execute on function holdfast.open_channel, holdfast.set_quota to holdfast_api;
  grant execute on function holdfast.follow_channel, holdfast.read_channels, holdfast.follow_job, holdfast.read_jobs to holdfast_api;
  grant execute on function holdfast.bucket_floor, holdfast.bucket_middle to holdfast_api, holdfast_viewer;
  grant select on holdfast.statistic, holdfast.timing, holdfast.duration, holdfast.tally, holdfast.usage, holdfast.storage, holdfast.quota, holdfast.projection
    to holdfast_api, holdfast_viewer;
  grant execute on function holdfast.register_alerts, holdfast.begin_delivery, holdfast.end_delivery to holdfast_worker;
  grant execute on function holdfast.evaluate_alerts to holdfast_worker, holdfast_maint;
  grant execute on function holdfast.notify to holdfast_producer, holdfast_worker, holdfast_api;
  grant execute on function holdfast.mute_rule, holdfast.is_own_task to holdfast_api;
  grant select on holdfast.alert_channel, holdfast.alert_rule, holdfast.alert, holdfast.notification to holdfast_api;
  grant execute on function
    holdfast.find_key, holdfast.create_key, holdfast.begin_request, holdfast.keep_answer, holdfast.record_action
    to holdfast_api;
  grant execute on function holdfast.seen_tenant, holdfast.may_see to holdfast_api, holdfast_viewer;
  -- Everybody says so before they look, also at tables that have nothing of tenants.
  grant execute on function holdfast.enter, holdfast.has_roles, holdfast.may_act_as
    to holdfast_producer, holdfast_worker, holdfast_api, holdfast_viewer, holdfast_maint;
  grant execute on function holdfast.begin_webhook, holdfast.end_replay, holdfast.fail_webhook, holdfast.begin_replay, holdfast.leave, holdfast.jobs_of to holdfast_api;
  grant select on holdfast.webhook_delivery to holdfast_api;
  grant select on holdfast.audit to holdfast_api;   -- keys' digests are for nobody
  grant execute on function holdfast.begin_operation, holdfast.create_operation to holdfast_api;
  grant execute on function holdfast.save_view, holdfast.delete_view to holdfast_api;
  grant select on holdfast.saved_view to holdfast_api;
  grant execute on function holdfast.run_chunk to holdfast_worker;
  grant select on holdfast.operation, holdfast.operation_chunk to holdfast_api;
  grant select on holdfast.audit to holdfast_api;   -- digests of keys, sessions and passwords are for nobody
  grant execute on function
    holdfast.use_key, holdfast.rotate_key, holdfast.revoke_key, holdfast.list_keys, holdfast.create_person, holdfast.list_people,
    holdfast.set_role, holdfast.set_password, holdfast.disable_person, holdfast.enable_person, holdfast.find_person, holdfast.take_tries,
    holdfast.begin_session, holdfast.find_session, holdfast.end_session, holdfast.has_callers
    to holdfast_api;
  -- What the auditor reads and asks beside all that: nothing that lets anybody in, and nothing that writes.
  grant execute on function
    holdfast.broken_rule, holdfast.bound_hash, holdfast.person, holdfast.limits_of, holdfast.filled_key, holdfast.has_slot, holdfast.flag_share,
    holdfast.is_native, holdfast.said, holdfast.linked, holdfast.heads, holdfast.running_in, holdfast.cluster, holdfast.queue_at, holdfast.event_kind, holdfast.channel_tenant
    to holdfast_api;
  grant select on holdfast.feed, holdfast.channel, holdfast.left_over, holdfast.callback_nonce to holdfast_api;
end $$;

-- A caller that is bound to no tenant may do what one may that is bound to one. It acts as a role of its own: see holdfast.enter.
do $$
declare
  v_right record;
begin
  if not holdfast.can_step_out() then
    return;
  end if;
  grant usage on schema holdfast to holdfast_unbound;
  for v_right in
    select format('grant select on %s to holdfast_unbound', c.oid::regclass) as words
      from pg_class c, aclexplode(c.relacl) as a
     where c.relnamespace = 'holdfast'::regnamespace and a.grantee = 'holdfast_api'::regrole
    union all
    select format('grant execute on function %s to holdfast_unbound', p.oid::regprocedure)
      from pg_proc p, aclexplode(p.proacl) as a
     where p.pronamespace = 'holdfast'::regnamespace and a.grantee = 'holdfast_api'::regrole
  loop
    execute v_right.words;
  end loop;
end $$;
