//! The order of the queries in a pass (TPC-H specification, clause 5.3.5 and appendix A).

use super::QUERIES;

/// The power test's order, and those of the first streams of the throughput test.
const STREAMS: [[u8; QUERIES]; 11] = [
    [14, 2, 9, 20, 6, 17, 18, 8, 21, 13, 3, 22, 16, 4, 11, 15, 1, 10, 19, 5, 7, 12],
    [21, 3, 18, 5, 11, 7, 6, 20, 17, 12, 16, 15, 13, 10, 2, 8, 14, 19, 9, 22, 1, 4],
    [6, 17, 14, 16, 19, 10, 9, 2, 15, 8, 5, 22, 12, 7, 13, 18, 1, 4, 20, 3, 11, 21],
    [8, 5, 4, 6, 17, 7, 1, 18, 22, 14, 9, 10, 15, 11, 20, 2, 21, 19, 13, 16, 12, 3],
    [5, 21, 14, 19, 15, 17, 12, 6, 4, 9, 8, 16, 11, 2, 10, 18, 1, 13, 7, 22, 3, 20],
    [21, 15, 4, 6, 7, 16, 19, 18, 14, 22, 11, 13, 3, 1, 2, 5, 8, 20, 12, 17, 10, 9],
    [10, 3, 15, 13, 6, 8, 9, 7, 4, 11, 22, 18, 12, 1, 5, 16, 2, 14, 19, 20, 17, 21],
    [18, 8, 20, 21, 2, 4, 22, 17, 1, 11, 9, 19, 3, 13, 5, 7, 10, 16, 6, 14, 15, 12],
    [19, 1, 15, 17, 5, 8, 9, 12, 14, 7, 4, 3, 20, 16, 6, 22, 10, 13, 2, 21, 18, 11],
    [8, 13, 2, 20, 17, 3, 6, 21, 18, 11, 19, 10, 15, 4, 22, 1, 7, 12, 9, 14, 5, 16],
    [6, 15, 18, 17, 12, 1, 7, 2, 22, 13, 21, 10, 14, 9, 3, 16, 20, 19, 11, 4, 8, 5],
];

/// In which order a client goes through the queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// 1 to 22 for the first client, and for each further one that of a stream of the throughput test.
    Ascending,
    /// That of the power test for the first client, and the same for further ones.
    Power,
}

impl Order {
    /// The numbers of the queries that a client runs in a pass, in their order.
    pub(super) fn of_client(self, client: u32) -> [u8; QUERIES] {
        match (self, client as usize) {
            (Self::Ascending, 0) => std::array::from_fn(|at| at as u8 + 1),
            (Self::Power, 0) => STREAMS[0],
            (_, client) => STREAMS[(client - 1) % (STREAMS.len() - 1) + 1],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_order_has_each_query_once() {
        let orders = [Order::Ascending, Order::Power];
        for order in orders.into_iter().flat_map(|order| (0..23).map(move |client| order.of_client(client))) {
            let mut sorted = order;
            sorted.sort_unstable();
            assert_eq!(sorted, Order::Ascending.of_client(0), "{order:?}");
        }
        assert_eq!(Order::Ascending.of_client(1), Order::Power.of_client(11));
        assert_ne!(Order::Ascending.of_client(1), Order::Ascending.of_client(2));
    }
}
