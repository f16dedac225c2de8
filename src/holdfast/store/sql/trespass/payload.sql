update holdfast.job
   set payload = '{"forged": true}'
 where id = %(job_id)s
