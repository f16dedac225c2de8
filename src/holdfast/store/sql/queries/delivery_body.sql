select d.body
  from holdfast.webhook_delivery d
 where d.id = %(delivery_id)s
