-- Maintenance windows given on the command line; the configuration's own windows are not stored. A row is its own audit:
-- who added it and who ended it is what the server knows of the session, and neither can be written by hand.
create table rebalance_monitor.maintenance (
    window_id bigint generated always as identity primary key,
    cluster text not null,
    "groups" text not null,
    owner text not null check (owner <> ''),
    reason text not null check (reason <> ''),
    from_ms bigint not null,
    until_ms bigint not null,
    operator text not null, -- the account on the machine the command ran on, as it said
    added_at timestamptz not null default now(),
    added_by text not null default session_user,
    ended_at timestamptz,
    ended_by text,
    ended_operator text,
    check (until_ms > from_ms and until_ms - from_ms <= 604800000)
);
create index maintenance_until on rebalance_monitor.maintenance (until_ms) where ended_at is null;

create function rebalance_monitor.maintenance_audit() returns trigger language plpgsql as $$
begin
    if tg_op = 'INSERT' then
        new.added_at := now();
        new.added_by := session_user;
        new.ended_at := null;
        new.ended_by := null;
        new.ended_operator := null;
        return new;
    end if;
    if old.ended_at is not null then
        raise exception 'maintenance window % is already ended', old.window_id;
    end if;
    if (new.window_id, new.cluster, new."groups", new.owner, new.reason, new.from_ms, new.until_ms, new.operator,
            new.added_at, new.added_by)
        is distinct from
        (old.window_id, old.cluster, old."groups", old.owner, old.reason, old.from_ms, old.until_ms, old.operator,
            old.added_at, old.added_by) then
        raise exception 'a maintenance window can only be ended, not changed';
    end if;
    new.ended_at := now();
    new.ended_by := session_user;
    return new;
end
$$;
create trigger maintenance_audit before insert or update on rebalance_monitor.maintenance
    for each row execute function rebalance_monitor.maintenance_audit();

-- The window that keeps this incident from being told; what it was when the incident ended stays.
alter table rebalance_monitor.incidents add column muted_by text;

-- Each group as its latest record shows it: Stable (with members), Empty, or Dead (deleted).
create table rebalance_monitor.groups (
    cluster text not null,
    "group" text not null,
    state text not null,
    at_ms bigint not null,
    batch_id bigint not null,
    primary key (cluster, "group")
);
