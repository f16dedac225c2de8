update holdfast.job
   set status = %(status)s
 where id = %(job_id)s
