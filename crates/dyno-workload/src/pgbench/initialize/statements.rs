//! The SQL of the steps, letter for letter as pgbench 18 sends it. Text only.

use crate::pgbench::tables::{ACCOUNTS_PER_BRANCH, ALL_TABLES, BIGINT_SCALE, TELLERS_PER_BRANCH, Table};

use super::{Initialization, PartitionMethod};

/// In the order in which tables are vacuumed and get their keys.
const KEPT: [Table; 4] = [Table::Branches, Table::Tellers, Table::Accounts, Table::History];

impl Initialization {
    pub(super) fn drop_sql() -> String {
        format!("drop table if exists {ALL_TABLES}")
    }

    pub(super) fn truncate_sql() -> String {
        format!("truncate table {ALL_TABLES}")
    }

    /// `CREATE TABLE` for the four tables.
    pub(super) fn create_sql(&self) -> [String; 4] {
        Table::ALL.map(|table| self.create_table_sql(table))
    }

    fn create_table_sql(&self, table: Table) -> String {
        let partitioned = table == Table::Accounts && self.partitions > 0;
        // With partitions pgbench has only those unlogged.
        let unlogged = if self.unlogged && self.partitions == 0 { " unlogged" } else { "" };
        let storage = match table {
            Table::Accounts if partitioned => format!(" partition by {} (aid)", self.partition_method.name()),
            Table::History => String::new(),
            _ => self.fillfactor_sql(),
        };
        let tablespace = tablespace_sql(" tablespace ", self.tablespace.as_deref());
        format!("create{unlogged} table {}({}){storage}{tablespace}", table.name(), self.columns(table))
    }

    fn columns(&self, table: Table) -> &'static str {
        match (table, self.scale >= BIGINT_SCALE) {
            (Table::History, false) => "tid int,bid int,aid    int,delta int,mtime timestamp,filler char(22)",
            (Table::History, true) => "tid int,bid int,aid bigint,delta int,mtime timestamp,filler char(22)",
            (Table::Tellers, _) => "tid int not null,bid int,tbalance int,filler char(84)",
            (Table::Accounts, false) => "aid    int not null,bid int,abalance int,filler char(84)",
            (Table::Accounts, true) => "aid bigint not null,bid int,abalance int,filler char(84)",
            (Table::Branches, _) => "bid int not null,bbalance int,filler char(88)",
        }
    }

    fn fillfactor_sql(&self) -> String {
        format!(" with (fillfactor={})", self.fillfactor)
    }

    /// `CREATE TABLE … PARTITION OF`, for each partition.
    pub(super) fn partitions_sql(&self) -> impl Iterator<Item = String> {
        (1..=self.partitions).map(|number| {
            format!(
                "create{} table pgbench_accounts_{number}\n  partition of pgbench_accounts\n  for values {}{}",
                if self.unlogged { " unlogged" } else { "" },
                self.bounds(number),
                self.fillfactor_sql(),
            )
        })
    }

    fn bounds(&self, number: u32) -> String {
        match self.partition_method {
            PartitionMethod::Hash => {
                format!("with (modulus {}, remainder {})", self.partitions, number - 1)
            }
            PartitionMethod::Range => {
                let size = Table::Accounts.rows(self.scale).div_ceil(u64::from(self.partitions));
                let bound = |partition: u32| (u64::from(partition) * size + 1).to_string();
                let from = if number == 1 { "minvalue".to_owned() } else { bound(number - 1) };
                let to = if number == self.partitions { "maxvalue".to_owned() } else { bound(number) };
                format!("from ({from}) to ({to})")
            }
        }
    }

    /// `INSERT … SELECT` from `generate_series`, for the three tables that are not empty.
    pub(super) fn generate_sql(&self) -> [String; 3] {
        let rows = |table: Table| table.rows(self.scale);
        [
            format!(
                "insert into pgbench_branches(bid,bbalance) select bid, 0 from generate_series(1, {}) as bid",
                rows(Table::Branches)
            ),
            format!(
                "insert into pgbench_tellers(tid,bid,tbalance) \
                 select tid, (tid - 1) / {TELLERS_PER_BRANCH} + 1, 0 from generate_series(1, {}) as tid",
                rows(Table::Tellers)
            ),
            format!(
                "insert into pgbench_accounts(aid,bid,abalance,filler) \
                 select aid, (aid - 1) / {ACCOUNTS_PER_BRANCH} + 1, 0, '' from generate_series(1, {}) as aid",
                rows(Table::Accounts)
            ),
        ]
    }

    pub(super) fn vacuum_sql() -> [String; 4] {
        KEPT.map(|table| format!("vacuum analyze {}", table.name()))
    }

    pub(super) fn primary_keys_sql(&self) -> impl Iterator<Item = String> {
        let tablespace = tablespace_sql(" using index tablespace ", self.index_tablespace.as_deref());
        KEPT.into_iter().filter_map(Table::key_sql).map(move |sql| format!("{sql}{tablespace}"))
    }

    pub(super) fn foreign_keys_sql() -> [String; 5] {
        [
            ("pgbench_tellers", "bid", "pgbench_branches"),
            ("pgbench_accounts", "bid", "pgbench_branches"),
            ("pgbench_history", "bid", "pgbench_branches"),
            ("pgbench_history", "tid", "pgbench_tellers"),
            ("pgbench_history", "aid", "pgbench_accounts"),
        ]
        .map(|(table, column, referenced)| {
            format!(
                "alter table {table} add constraint {table}_{column}_fkey \
                 foreign key ({column}) references {referenced}"
            )
        })
    }
}

/// Behind `clause`, the name quoted as an identifier.
fn tablespace_sql(clause: &str, tablespace: Option<&str>) -> String {
    tablespace.map_or_else(String::new, |name| format!("{clause}\"{}\"", name.replace('"', "\"\"")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_meet_and_cover_everything() {
        let options = Initialization { partitions: 3, ..Initialization::default() };
        let bounds: Vec<String> = (1..=3).map(|number| options.bounds(number)).collect();
        assert_eq!(
            bounds,
            ["from (minvalue) to (33335)", "from (33335) to (66669)", "from (66669) to (maxvalue)"]
        );
        let one = Initialization { partitions: 1, ..options };
        assert_eq!(one.bounds(1), "from (minvalue) to (maxvalue)");
    }

    #[test]
    fn names_of_tablespaces_are_quoted() {
        let options = Initialization {
            tablespace: Some("a \"b".to_owned()),
            index_tablespace: Some("I".to_owned()),
            unlogged: true,
            fillfactor: 70,
            ..Initialization::default()
        };
        assert_eq!(
            options.create_table_sql(Table::Branches),
            "create unlogged table pgbench_branches(bid int not null,bbalance int,filler char(88)) \
             with (fillfactor=70) tablespace \"a \"\"b\""
        );
        assert_eq!(
            options.primary_keys_sql().next().unwrap(),
            "alter table pgbench_branches add primary key (bid) using index tablespace \"I\""
        );
    }

    #[test]
    fn account_numbers_are_wide_at_a_large_scale() {
        let wide = Initialization { scale: 20_000, ..Initialization::default() };
        assert!(wide.create_table_sql(Table::Accounts).contains("(aid bigint not null,"));
        assert!(wide.create_table_sql(Table::History).contains(",aid bigint,"));
        assert!(wide.generate_sql()[2].ends_with("generate_series(1, 2000000000) as aid"));
        let narrow = Initialization { scale: 19_999, ..wide };
        assert!(narrow.create_table_sql(Table::Accounts).contains("(aid    int not null,"));
    }
}
