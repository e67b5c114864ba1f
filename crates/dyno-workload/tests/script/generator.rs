//! Random expressions: every operator, function and type, with constants at the edges. Most are well-typed.

use dyno_workload::script::random::Prng;

/// Variables that expressions use, as `-D` sets them.
pub(crate) const DEFINED: &[(&str, &str)] = &[
    ("one", "1"),
    ("minus", "  -17"),
    ("big", "9223372036854775807"),
    ("half", "0.5"),
    ("huge", "1e300"),
    ("hex", "0x1.8p3"),
    ("yes", "y"),
    ("off", "off"),
    ("nil", "Null"),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Type {
    Integer,
    Double,
    Boolean,
}

/// Makes expressions of a stream of random numbers.
pub(crate) struct Generator {
    random: Prng,
}

impl Generator {
    pub(crate) fn new(seed: u64) -> Self {
        Self { random: Prng::seed(seed) }
    }

    /// An expression.
    pub(crate) fn expression(&mut self) -> String {
        if self.below(5) == 0 {
            return self.chain();
        }
        let depth = self.below(6);
        let kind = self.pick(&[Type::Integer, Type::Integer, Type::Double, Type::Boolean]);
        self.of(kind, depth)
    }

    /// Operands and operators without parentheses: what belongs together is for the parser to find.
    fn chain(&mut self) -> String {
        const INFIX: &[&str] = &[
            "+", "-", "*", "/", "%", "|", "#", "&", "<<", ">>", "<", ">", "=", "<=", ">=", "<>", "and", "or",
        ];
        let mut text = String::new();
        for _ in 0..=self.below(6) {
            text += self.pick(&["", "", "", "", "-", "~", "not ", "- -", "~ -", "not not "]);
            let kind = self.pick(&[Type::Integer, Type::Integer, Type::Integer, Type::Double, Type::Boolean]);
            text += &self.leaf(kind);
            text += self.pick(&["", "", "", "", "", " isnull", " is not true", " notnull"]);
            text += &format!(" {} ", self.pick(INFIX));
        }
        text + self.pick(&["1", "2", "true", ":half", "null is null"])
    }

    fn below(&mut self, end: usize) -> usize {
        self.random.range(0, end as u64 - 1) as usize
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    fn of(&mut self, kind: Type, depth: usize) -> String {
        // Now and then something of another type, or null, comes where this one is expected.
        let kind =
            if self.below(60) == 0 { self.pick(&[Type::Integer, Type::Double, Type::Boolean]) } else { kind };
        if self.below(50) == 0 {
            return self.pick(&["NULL", ":nil", "null"]).to_owned();
        }
        if depth == 0 {
            return self.leaf(kind);
        }
        match self.below(12) {
            0 => self.case(kind, depth - 1),
            1 => format!("debug({})", self.of(kind, depth - 1)),
            2 => format!("({})", self.of(kind, depth - 1)),
            _ => match kind {
                Type::Integer => self.integer(depth - 1),
                Type::Double => self.double(depth - 1),
                Type::Boolean => self.boolean(depth - 1),
            },
        }
    }

    fn leaf(&mut self, kind: Type) -> String {
        const INTEGERS: &[&str] = &[
            "0",
            "1",
            "2",
            "3",
            "7",
            "10",
            "63",
            "64",
            "100",
            "4096",
            "-1",
            "- 1",
            "+5",
            "9223372036854775807",
            "-9223372036854775808",
            "4611686018427387904",
            "4294967296",
            "123456789012345678",
            ":one",
            ":minus",
            ":big",
            ":client_id",
            ":scale",
            ":random_seed",
            "007",
        ];
        const DOUBLES: &[&str] = &[
            "0.0",
            "1.0",
            "0.5",
            "1.5",
            "2.5",
            "-2.5",
            ".1",
            "3.",
            "1e10",
            "1E-10",
            "1e308",
            "2.5e-308",
            "9.2e18",
            "9223372036854775808.0",
            "123456789012345.6",
            "1234567890123455.0",
            "999999999999999.9",
            "0.00001234",
            "2.2",
            ":half",
            ":huge",
            ":hex",
            "pi()",
        ];
        const BOOLEANS: &[&str] = &["true", "false", "TRUE", "False", ":yes", ":off"];
        self.pick(match kind {
            Type::Integer => INTEGERS,
            Type::Double => DOUBLES,
            Type::Boolean => BOOLEANS,
        })
        .to_owned()
    }

    /// Mostly in parentheses; without, the precedences decide what it means, and whether it means anything.
    fn operand(&mut self, kind: Type, depth: usize) -> String {
        let operand = self.of(kind, depth);
        if self.below(4) == 0 { operand } else { format!("({operand})") }
    }

    fn number(&mut self) -> Type {
        self.pick(&[Type::Integer, Type::Integer, Type::Double])
    }

    fn infix(&mut self, left: Type, operators: &[&str], right: Type, depth: usize) -> String {
        let (left, right) = (self.operand(left, depth), self.operand(right, depth));
        let space = self.pick(&["", " "]);
        let operator = self.pick(operators);
        let space = if operator.starts_with(char::is_alphabetic) { " " } else { space };
        format!("{left}{space}{operator}{space}{right}")
    }

    fn integer(&mut self, depth: usize) -> String {
        use Type::Integer;
        match self.below(14) {
            0..=3 => self.infix(Integer, &["+", "-", "*", "/", "%"], Integer, depth),
            4 => self.infix(Integer, &["|", "#", "&", "<<", ">>"], Integer, depth),
            5 => format!("{}{}", self.pick(&["-", "~", "+", "- ", "~ "]), self.operand(Integer, depth)),
            // Never of a boolean: pgbench makes whatever is in memory of its absolute value.
            6 => format!("{}(1 * ({}))", self.pick(&["abs", "int", "ABS"]), self.of(Integer, depth)),
            7 => format!("int({})", self.of(Type::Double, depth)),
            8 => self.call(&["least", "greatest"], Integer, depth),
            9 => format!("mod({}, {})", self.of(Integer, depth), self.of(Integer, depth)),
            10 => {
                let function = self.pick(&["hash", "hash_murmur2", "hash_fnv1a"]);
                let seed =
                    if self.below(2) == 0 { String::new() } else { format!(",{}", self.of(Integer, depth)) };
                format!("{function}({}{seed})", self.of(Integer, depth))
            }
            11 => {
                let size = self.pick(&["1", "2", "3", "10", "1000", "9223372036854775807", "0"]);
                let seed =
                    if self.below(2) == 0 { String::new() } else { format!(",{}", self.of(Integer, depth)) };
                format!("permute({}, {size}{seed})", self.of(Integer, depth))
            }
            _ => self.random(depth),
        }
    }

    fn call(&mut self, functions: &[&str], kind: Type, depth: usize) -> String {
        let count = 1 + self.below(4);
        let arguments: Vec<_> = (0..count).map(|_| self.of(kind, depth)).collect();
        format!("{}({})", self.pick(functions), arguments.join(", "))
    }

    fn random(&mut self, depth: usize) -> String {
        let (low, high) = self.pick(&[
            ("0", "0"),
            ("1", "6"),
            ("-5", "5"),
            ("1", "100000"),
            ("0", "9223372036854775806"),
            ("-4611686018427387904", "4611686018427387902"),
            ("1", "100000 * :scale"),
        ]);
        let high = if self.below(8) == 0 { self.of(Type::Integer, depth) } else { high.to_owned() };
        match self.below(5) {
            0 => format!(
                "random_gaussian({low}, {high}, {})",
                self.pick(&["2.0", "2.5", "10", "100.25", "1.9"])
            ),
            1 => {
                let parameter = self.pick(&["0.1", "1", "5.5", "50", "1e-10", "0"]);
                format!("random_exponential({low}, {high}, {parameter})")
            }
            2 => {
                let parameter = self.pick(&["1.07", "1.5", "2", "10.5", "1000", "1.001", "1.0"]);
                // A wide range with an exponent near 1 takes very long.
                let high = if parameter == "1.001" { "10000" } else { high.as_str() };
                format!("random_zipfian(1, {high}, {parameter})")
            }
            _ => format!("random({low}, {high})"),
        }
    }

    fn double(&mut self, depth: usize) -> String {
        use Type::Double;
        match self.below(8) {
            0..=2 => {
                let (left, right) = (self.number(), self.number());
                self.infix(left, &["+", "-", "*", "/"], right, depth)
            }
            3 => format!("{}{}", self.pick(&["-", "+"]), self.operand(Double, depth)),
            4 => {
                let kind = self.number();
                let function = self.pick(&["sqrt", "ln", "exp", "double", "abs"]);
                format!("{function}(1 * ({}))", self.of(kind, depth))
            }
            5 => self.call(&["least", "greatest", "Greatest"], Double, depth),
            _ => {
                let (left, right) = (self.number(), self.number());
                format!(
                    "{}({}, {})",
                    self.pick(&["pow", "power"]),
                    self.of(left, depth),
                    self.of(right, depth)
                )
            }
        }
    }

    fn boolean(&mut self, depth: usize) -> String {
        use Type::Boolean;
        match self.below(8) {
            0..=2 => {
                let (left, right) = (self.number(), self.number());
                self.infix(left, &["<", ">", "<=", ">=", "=", "<>", "!="], right, depth)
            }
            3 | 4 => self.infix(Boolean, &["and", "or", "AND", "Or"], Boolean, depth),
            5 => format!("not {}", self.operand(Boolean, depth)),
            _ => {
                let kind = self.pick(&[Type::Integer, Type::Double, Boolean]);
                let is = self.pick(&[
                    "is null",
                    "is not null",
                    "IS TRUE",
                    "is not true",
                    "is false",
                    "is not false",
                    "isnull",
                    "notnull",
                ]);
                format!("{} {is}", self.operand(kind, depth))
            }
        }
    }

    fn case(&mut self, kind: Type, depth: usize) -> String {
        let mut text = String::from("case");
        for _ in 0..=self.below(3) {
            let condition = self.pick(&[Type::Boolean, Type::Boolean, Type::Integer]);
            text += &format!(" when {} then {}", self.of(condition, depth), self.of(kind, depth));
        }
        if self.below(2) == 0 {
            text += &format!(" else {}", self.of(kind, depth));
        }
        text + " end"
    }
}
