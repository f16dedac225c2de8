-- guard: the fence as a whole, of which each mutant takes a part that the others make up for
select pg_temp.without('holdfast.complete', $guard$ and j.attempt = o.attempt and j.claim_id = o.claim_id$guard$);
select pg_temp.without('holdfast.complete', $guard$j.holder is not distinct from p_worker$guard$, $guard$true$guard$);
select pg_temp.without('holdfast.settle', $guard$ and j.attempt = o.attempt and j.claim_id = o.claim_id and j.holder is not distinct from p_worker$guard$);
select pg_temp.without('holdfast.hold_fence', $guard$ and v_job.attempt = p_attempt and v_job.claim_id = p_claim_id$guard$);
