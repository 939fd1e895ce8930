//! Tables on a cluster (the extension Citus): one reference table that every node has a copy of, all tables with
//! the column distributed by it and co-located. So all rows with one value of the column are on one worker, where
//! they are joined, refer to each other by foreign keys, and commit together.

use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, ToSql};

use crate::{Distribution, Error, Layout};

use super::Session;

const NAME: &str = "distribute";

/// In a transaction that changes the schema: tables keep their foreign keys while only some of them are
/// distributed, and one connection to each worker does it all.
const SETTINGS: &str = "SET LOCAL citus.enable_local_reference_table_foreign_keys = off;
    SET LOCAL citus.multi_shard_modify_mode = 'sequential'; SET LOCAL client_min_messages = error";
/// A distributed table and its column: others are co-located with it.
const ANCHOR: &str = "SELECT p.logicalrelid::text, column_to_column_name(p.logicalrelid, p.partkey)
    FROM pg_dist_partition p JOIN pg_class c ON c.oid = p.logicalrelid
    WHERE p.partmethod = 'h' AND c.relnamespace = current_schema()::regnamespace
    ORDER BY p.logicalrelid LIMIT 1";
/// A table with the column that is on the coordinator alone, but refers to no other of that kind.
const NEXT: &str = "SELECT c.oid::regclass::text FROM pg_class c
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = $1 AND NOT a.attisdropped
    WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace
        AND NOT EXISTS (SELECT 1 FROM pg_dist_partition p WHERE p.logicalrelid = c.oid)
        AND NOT EXISTS (SELECT 1 FROM pg_constraint f
            WHERE f.conrelid = c.oid AND f.contype = 'f' AND f.confrelid <> c.oid
                AND NOT EXISTS (SELECT 1 FROM pg_dist_partition p WHERE p.logicalrelid = f.confrelid))
    ORDER BY c.relname LIMIT 1";
/// Schemas of one value each whose tables are on the coordinator, with one of their tables.
const LOCAL_SCHEMAS: &str =
    "SELECT n.nspname::text, array_remove(array_agg(c.oid::regclass::text), NULL)
    FROM pg_namespace n LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relkind = 'r'
    WHERE starts_with(n.nspname, $1)
        AND NOT EXISTS (SELECT 1 FROM pg_dist_schema s WHERE s.schemaid = n.oid)
    GROUP BY n.nspname ORDER BY n.nspname";
/// Schemas on another worker than the rows of the value that their name ends with, and that worker.
const DISTANT_SCHEMAS: &str = "SELECT DISTINCT t.name, n.nodeid
    FROM (SELECT n.nspname::text AS name, s.colocationid, substr(n.nspname::text, length($1) + 1) AS value
            FROM pg_dist_schema s JOIN pg_namespace n ON n.oid = s.schemaid
            WHERE starts_with(n.nspname, $1) OFFSET 0) AS t
        JOIN pg_dist_partition p ON p.colocationid = t.colocationid
        JOIN pg_dist_shard s ON s.logicalrelid = p.logicalrelid
        JOIN pg_dist_placement own ON own.shardid = s.shardid
        JOIN pg_dist_placement home
            ON home.shardid = get_shard_id_for_distribution_column($2::text::regclass, t.value)
        JOIN pg_dist_node n ON n.groupid = home.groupid
    WHERE own.groupid <> home.groupid ORDER BY t.name";
/// How shards are moved: without stopping writes where the workers can decode their log.
const TRANSFER: &str =
    "SELECT CASE WHEN bool_and(result = 'logical') THEN 'auto' ELSE 'block_writes' END
    FROM run_command_on_workers('SHOW wal_level')";
const IS_ALONE: &str = "SELECT shardminvalue = shardmaxvalue FROM pg_dist_shard
    WHERE shardid = get_shard_id_for_distribution_column($1::text::regclass, $2::text)";
const LAYOUT: &str = "SELECT count(p.logicalrelid), min(p.colocationid),
        (SELECT count(*) FROM pg_dist_node n WHERE n.isactive AND n.shouldhaveshards),
        (SELECT count(*) FROM pg_dist_schema)
    FROM pg_dist_partition p JOIN pg_class c ON c.oid = p.logicalrelid
    WHERE p.partmethod = 'h' AND c.relnamespace = current_schema()::regnamespace";
const SHARDS: &str = "SELECT count(*), count(*) FILTER (WHERE shardminvalue = shardmaxvalue)
    FROM pg_dist_shard WHERE logicalrelid = $1::text::regclass";
/// Tables that are elsewhere than they belong: $1 the reference table, $2 the column, $3 the group.
const ASTRAY: &str = "SELECT c.relname::text FROM pg_class c
        LEFT JOIN pg_dist_partition p ON p.logicalrelid = c.oid
    WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace AND CASE
        WHEN c.relname = $1 THEN p.partmethod IS DISTINCT FROM 'n' OR p.repmodel IS DISTINCT FROM 't'
        WHEN EXISTS (SELECT 1 FROM pg_attribute a
                WHERE a.attrelid = c.oid AND a.attname = $2 AND NOT a.attisdropped)
            THEN p.partmethod IS DISTINCT FROM 'h' OR p.colocationid IS DISTINCT FROM $3
        ELSE FALSE END
    ORDER BY c.relname";

impl Session {
    /// Distributes what is not distributed yet, in one transaction, and returns the names. Rows move along.
    pub(crate) fn distribute(&self, how: &Distribution) -> Result<Vec<String>, Error> {
        self.lock_migrations()?;
        self.batch(&format!("BEGIN; {SETTINGS}"))?;
        let astray = self.astray(how)?;
        let mut moved = Vec::new();
        if astray.iter().any(|table| table == how.reference) {
            self.call("SELECT create_reference_table($1::text::regclass)", &[&how.reference])?;
            moved.push(how.reference.to_owned());
        }
        moved.extend(self.distribute_new(how.column)?);
        // Rows stay behind in the tables of the coordinator, where nobody sees them.
        for table in &moved {
            self.leave(table)?;
        }
        let left = self.astray(how)?;
        if !left.is_empty() {
            let message = format!("these tables cannot be distributed: {}", left.join(", "));
            return Err(Error::statement(NAME, message));
        }
        for row in self.found(LOCAL_SCHEMAS, &[&how.schema_prefix])? {
            let (schema, tables): (String, Vec<String>) = (value(&row, 0)?, value(&row, 1)?);
            let distribute = "SELECT citus_schema_distribute(quote_ident($1)::regnamespace)";
            self.call(distribute, &[&schema])?;
            for table in &tables {
                self.leave(table)?;
            }
            moved.push(schema);
        }
        self.batch("COMMIT")?;
        moved.extend(self.bring_schemas_home(how)?);
        moved.sort_unstable();
        moved.dedup();
        self.unlock_migrations()?;
        Ok(moved)
    }

    /// Gives the rows with this value of the column a shard of their own; false if they have one.
    pub(crate) fn isolate(&self, shard_of: &str) -> Result<bool, Error> {
        self.lock_migrations()?;
        let Some((anchor, _)) = self.anchor()? else {
            return Err(Error::statement(NAME, "the tables are not distributed"));
        };
        let alone = self.found(IS_ALONE, &[&anchor, &shard_of])?;
        let is_alone = alone.first().map_or(Ok(false), |row| value(row, 0))?;
        if !is_alone {
            let isolate =
                "SELECT isolate_tenant_to_new_shard($1::text::regclass, $2::text, 'CASCADE',
                $3::text::citus.shard_transfer_mode)";
            self.call(isolate, &[&anchor, &shard_of, &self.transfer()?])?;
        }
        self.unlock_migrations()?;
        Ok(!is_alone)
    }

    /// How the tables lie; `None` without the extension.
    pub(crate) fn layout(&self, how: &Distribution) -> Result<Option<Layout>, Error> {
        if !self.is_cluster {
            return Ok(None);
        }
        let rows = self.found(LAYOUT, &[])?;
        let row = rows.first().ok_or(Error::NoRow { statement: NAME })?;
        let mut layout = Layout {
            tables: value(row, 0)?,
            workers: value(row, 2)?,
            schemas: value(row, 3)?,
            ..Layout::default()
        };
        if let Some((anchor, _)) = self.anchor()? {
            for row in self.found(SHARDS, &[&anchor])? {
                (layout.shards, layout.isolated) = (value(&row, 0)?, value(&row, 1)?);
            }
            layout.astray = self.astray(how)?;
            for row in self.found(LOCAL_SCHEMAS, &[&how.schema_prefix])? {
                layout.astray.push(value(&row, 0)?);
            }
        }
        Ok(Some(layout))
    }

    /// The column by which tables are distributed, if they are.
    pub(super) fn distribution_column(&self) -> Result<Option<String>, Error> {
        Ok(if self.is_cluster { self.anchor()?.map(|(_, column)| column) } else { None })
    }

    /// For a transaction that changes the schema of a cluster.
    pub(super) fn begin_on_cluster(&self) -> Result<(), Error> {
        self.batch(SETTINGS)
    }

    /// Distributes all tables with the column that are not; the first founds the group.
    pub(super) fn distribute_new(&self, column: &str) -> Result<Vec<String>, Error> {
        let mut names = Vec::new();
        while let Some(row) = self.found(NEXT, &[&column])?.first() {
            let table: String = value(row, 0)?;
            let with = self.anchor()?.map_or_else(|| "none".to_owned(), |(anchor, _)| anchor);
            let distribute =
                "SELECT create_distributed_table($1::text::regclass, $2, colocate_with => $3)";
            self.call(distribute, &[&table, &column, &with])?;
            names.push(table);
        }
        Ok(names)
    }

    fn bring_schemas_home(&self, how: &Distribution) -> Result<Vec<String>, Error> {
        let Some((anchor, _)) = self.anchor()? else { return Ok(Vec::new()) };
        let mut moved = Vec::new();
        for row in self.found(DISTANT_SCHEMAS, &[&how.schema_prefix, &anchor])? {
            let (schema, node): (String, i32) = (value(&row, 0)?, value(&row, 1)?);
            let bring = "SELECT citus_schema_move(quote_ident($1)::regnamespace, $2::int,
                $3::text::citus.shard_transfer_mode)";
            self.call(bring, &[&schema, &node, &self.transfer()?])?;
            moved.push(schema);
        }
        Ok(moved)
    }

    fn leave(&self, table: &str) -> Result<(), Error> {
        let truncate = "SELECT truncate_local_data_after_distributing_table($1::text::regclass)";
        self.call(truncate, &[&table])
    }

    fn anchor(&self) -> Result<Option<(String, String)>, Error> {
        let rows = self.found(ANCHOR, &[])?;
        rows.first().map(|row| Ok((value(row, 0)?, value(row, 1)?))).transpose()
    }

    fn astray(&self, how: &Distribution) -> Result<Vec<String>, Error> {
        let rows = self.found(LAYOUT, &[])?;
        let group: Option<i32> = rows.first().map_or(Ok(None), |row| value(row, 1))?;
        let rows = self.found(ASTRAY, &[&how.reference, &how.column, &group])?;
        rows.iter().map(|row| value(row, 0)).collect()
    }

    fn transfer(&self) -> Result<String, Error> {
        let rows = self.found(TRANSFER, &[])?;
        rows.first().map_or(Err(Error::NoRow { statement: NAME }), |row| value(row, 0))
    }

    fn call(&self, sql: &str, args: &[&(dyn ToSql + Sync)]) -> Result<(), Error> {
        self.found(sql, args).map(drop)
    }

    fn found(&self, sql: &str, args: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, Error> {
        self.patiently(NAME, self.client().query(sql, args))
    }
}

fn value<'r, T: FromSql<'r>>(row: &'r Row, at: usize) -> Result<T, Error> {
    row.try_get(at).map_err(|error| Error::statement(NAME, error))
}
