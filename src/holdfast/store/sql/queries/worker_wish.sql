select w.wish
  from holdfast.worker w
 where w.id = %(worker)s
