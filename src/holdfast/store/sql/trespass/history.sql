delete from holdfast.job_history
 where job_id = %(job_id)s
