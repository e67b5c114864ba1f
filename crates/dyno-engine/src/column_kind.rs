//! Of what kind the values of a column are, by its type in either protocol.

use dyno_results::answer::Kind;
use dyno_wire::my::backend::{Column, ColumnType};

/// By the number of a type in PostgreSQL's catalogue, `pg_type.dat`.
pub fn of_postgres(type_oid: u32) -> Kind {
    match type_oid {
        // int8, int2, int4, oid
        20 | 21 | 23 | 26 => Kind::Integer,
        // float4, float8
        700 | 701 => Kind::Float,
        // numeric
        1700 => Kind::Decimal,
        // bpchar
        1042 => Kind::Padded,
        // bool
        16 => Kind::Boolean,
        // "char", name, text, unknown, varchar, interval, bit, varbit, uuid
        18 | 19 | 25 | 705 | 1043 | 1186 | 1560 | 1562 | 2950 => Kind::Text,
        // bytea
        17 => Kind::Binary,
        // date, timestamp, timestamptz
        1082 | 1114 | 1184 => Kind::Timestamp,
        // time, timetz
        1083 | 1266 => Kind::Time,
        // json, jsonb
        114 | 3802 => Kind::Json,
        // Of the types above, in their order there: of numbers, and of others.
        1016 | 1005 | 1007 | 1028 | 1021 | 1022 | 1231 => Kind::NumberArray,
        1000 | 1014 | 1002 | 1003 | 1009 | 1015 | 1187 | 1561 | 1563 | 2951 | 1001 | 1182 | 1115 | 1185
        | 1183 | 1270 => Kind::Array,
        _ => Kind::Unknown,
    }
}

/// By the type in a column's description.
pub fn of_mysql(column: &Column<'_>) -> Kind {
    match column.value_type.column_type {
        ColumnType::TINY
        | ColumnType::SHORT
        | ColumnType::LONG
        | ColumnType::INT24
        | ColumnType::LONGLONG
        | ColumnType::YEAR => Kind::Integer,
        ColumnType::FLOAT | ColumnType::DOUBLE => Kind::Float,
        ColumnType::DECIMAL => Kind::Decimal,
        ColumnType::DATE | ColumnType::DATETIME | ColumnType::TIMESTAMP => Kind::Timestamp,
        ColumnType::TIME => Kind::Time,
        ColumnType::JSON => Kind::Json,
        ColumnType::BIT => Kind::Binary,
        ColumnType::VARCHAR | ColumnType::STRING | ColumnType::BLOB if column.is_binary => Kind::Binary,
        // The server takes blanks off the end of CHAR.
        ColumnType::STRING => Kind::Padded,
        ColumnType::VARCHAR | ColumnType::BLOB => Kind::Text,
        _ => Kind::Unknown,
    }
}
