//! The load: each client goes through the queries in its own order.

use dyno_engine::request::QueryKind;
use dyno_target::product::Dialect;

use super::family::Parameters;
use super::orders::Order;
use super::schema::Scale;
use super::{QUERIES, parameters, queries};
use crate::query_set::{Query, QueryLoad};
use crate::random::Random;

/// The queries on data that is there.
pub(super) fn load(order: Order, parameters: Parameters, scale: Scale, dialect: Dialect) -> QueryLoad {
    let names = (1..=QUERIES as u8).map(queries::name);
    QueryLoad::new(names, move |client, seed| {
        of_client(client, seed, order, parameters, scale.factor(), &dialect)
    })
}

/// The queries of a client, in their order.
fn of_client(
    client: u32,
    seed: u64,
    order: Order,
    parameters: Parameters,
    scale: f64,
    dialect: &Dialect,
) -> Vec<Query> {
    let mut random = Random::of_client(seed, client);
    let is_drawn = client > 0 || parameters == Parameters::Random;
    let values = |number, random: &mut Random| match is_drawn {
        true => parameters::drawn(number, scale, random),
        false => parameters::of_validation(number, scale),
    };
    let query = |number: u8| {
        let mut parameters = values(number, &mut random);
        let sql = queries::text(number, &parameters, dialect);
        // On other data it is another question.
        parameters.push(format!("scale={scale}"));
        let (place, kind) = (u16::from(number) - 1, QueryKind::Read);
        Query { parameters, ..Query::one(place, sql, kind) }
    };
    // Drawn in the order of their numbers, so that each order has the same.
    let mut pass: Vec<Query> = (1..=QUERIES as u8).map(query).collect();
    let order = order.of_client(client);
    pass.sort_by_key(|query| order.iter().position(|number| u16::from(*number) == query.place + 1));
    pass
}
