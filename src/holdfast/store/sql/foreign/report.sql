-- As text: a connection may read JSON in a way of its own.
select holdfast.job_report(cast(cast(:job as text) as uuid))::text
