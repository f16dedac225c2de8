"""All strikes there are, by name."""

from chaos.strikes import on_database, on_host, on_network, on_workers
from chaos.strikes.strike import Strike

ALL: dict[str, Strike] = {
    strike.name: strike
    for strike in (
        on_workers.KillWorker(),
        on_workers.FreezeWorker(),
        on_workers.BlockLoop(),
        on_workers.PoisonPill(),
        on_workers.DrainWorker(),
        on_workers.WrongClock(),
        on_workers.TwoReleases(),
        on_workers.BehindPooler(),
        on_database.TerminateBackends(),
        on_database.KillBackend(),
        on_database.StopImmediately(),
        on_database.KillPostgres(),
        on_database.LongOutage(),
        on_database.OutageOfMinutes(),
        on_database.NoConnections(),
        on_database.HoldTable(),
        on_database.StatementTimeout(),
        on_database.PinSnapshot(),
        on_database.FillDisk(),
        on_database.ApplyFunctions(),
        on_database.Failover(),
        on_network.CutBefore(),
        on_network.CutAfter(),
        on_network.CutAnywhere(),
        on_network.SlowNetwork(),
        on_network.HalfOpen(),
        on_network.LoseNotifications(),
        on_host.PauseAll(),
    )
}
