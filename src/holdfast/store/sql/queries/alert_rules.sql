select jsonb_build_object('name', r.name, 'kind', r.kind, 'task', r.task, 'queue', r.queue, 'tenant', r.tenant, 'severity', r.severity, 'threshold', r.threshold,
         'period', extract(epoch from r.period), 'channels', to_jsonb(r.channels), 'enabled', r.enabled, 'app', r.app,
         'open', (select count(*) from holdfast.alert a where a.rule = r.name and a.closed_at is null))
  from holdfast.alert_rule r
 order by r.name
