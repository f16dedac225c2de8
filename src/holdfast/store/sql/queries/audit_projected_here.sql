-- Whether feed and figures were projected by this server: after a dump was restored elsewhere its transaction numbers say nothing until
-- a worker has projected once.
select p.cluster is not distinct from holdfast.cluster() from holdfast.projection p
