// A comparison of two runs with two targets each, as `/api/compare` answers it.

const side = (run: string, target: string) => ({
  name: `${run}:${target}`,
  runs: [run],
  target,
  product: null,
});
const cell = (value: number | null, ratio: unknown = null) => ({
  value,
  interval: value === null ? null : [value * 0.99, value * 1.01],
  ratio,
});
export const COMPARISON = {
  schema: "dyno.comparison/1",
  base: 0,
  sides: [side("duel-1", "pg"), side("duel-1", "my"), side("duel-2", "pg"), side("duel-2", "my")],
  series: [
    {
      name: "ingest",
      speed_ups: [[], [], [], []],
      basis: { text: "3 rounds in turn: ratios are the means of the rounds' ratios" },
      sections: [
        {
          kind: "headline",
          loads: [12, 12, 16, 16].map((clients) => ({
            kind: "ladder",
            clients,
            clients_end: null,
            connections: 40,
            rate_per_s: null,
            queries: null,
            seconds: 6,
            stages: [],
          })),
          same_load: false,
          rows: [
            {
              key: "throughput",
              label: "throughput",
              verdicts: ["faster", "slower"],
              unit: "1/s",
              better: "higher",
              cells: [
                cell(7_680),
                cell(14_054, { value: 1.83, interval: [1.79, 1.88], verdict: "better" }),
                cell(7_700, { value: 1, interval: [0.97, 1.03], verdict: "no-difference-shown" }),
                cell(null),
              ],
            },
            {
              key: "disk_write_bytes",
              label: "written to disk, per transaction",
              verdicts: ["less", "more"],
              unit: "bytes",
              better: "lower",
              cells: [
                cell(1_150),
                cell(3_900, { value: 3.39, interval: null, verdict: "no-interval" }),
                cell(1_148),
                cell(null),
              ],
            },
          ],
        },
      ],
    },
  ],
  data: [],
  absent: [],
  differences: [
    {
      aspect: "durability",
      severity: "invalid",
      series: null,
      text: "durability: durable (duel-1:pg); relaxed, sync_binlog is 0 (duel-1:my)",
      advice: "set both alike",
    },
    {
      aspect: "product",
      severity: "note",
      series: null,
      text: "product: PostgreSQL, MySQL",
      advice: "as intended",
    },
  ],
};
