-- I05, what guards refused: nothing that Holdfast does comes to that, so somebody or something tried what cannot be.
select 'I05' as code, null::uuid as job_id, format('guards of the tables refused a write %%s times', r.last_value) as what
  from holdfast.refusal r
 where r.is_called
