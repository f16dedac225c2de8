select n.id, n.kind, n.channel, n.recipient, n.state, n.job_id, n.created_at, n.delivered_at
  from holdfast.notification n
 where n.alert_id = %(alert_id)s
 order by n.created_at, n.id
