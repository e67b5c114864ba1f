//! Pieces of a program, and how they are put together. Each leaves one value on the stack.

use super::function::{Binary, Unary};
use super::program::{ARGUMENTS_MAX, Operation, Program};
use crate::script::{Slot, Value};

/// The operations that compute one value. Jumps are relative, so that fragments can be moved.
#[derive(Debug)]
pub(super) struct Fragment {
    operations: Vec<Operation>,
    /// How many values the stack holds at most.
    depth: usize,
}

/// A condition of CASE and the value that it stands before.
#[derive(Debug)]
pub(super) struct Branch {
    pub(super) condition: Fragment,
    pub(super) value: Fragment,
}

impl Fragment {
    pub(super) fn value(value: Value) -> Self {
        Self { operations: vec![Operation::Push(value)], depth: 1 }
    }

    pub(super) fn variable(slot: Slot) -> Self {
        Self { operations: vec![Operation::Load(slot)], depth: 1 }
    }

    pub(super) fn unary(mut self, function: Unary) -> Self {
        self.operations.push(Operation::Unary(function));
        self
    }

    /// The function of this and the other; this is evaluated first.
    pub(super) fn binary(self, function: Binary, second: Self) -> Self {
        Self::call(vec![self, second], Operation::Binary(function))
    }

    /// Evaluates the arguments in their order and then applies the operation to them.
    pub(super) fn call(arguments: Vec<Self>, operation: Operation) -> Self {
        let too_many = arguments.len() > ARGUMENTS_MAX;
        let mut joined = Self { operations: Vec::new(), depth: 1 };
        for (index, mut argument) in arguments.into_iter().take(ARGUMENTS_MAX).enumerate() {
            joined.depth = joined.depth.max(index + argument.depth);
            if index == 0 {
                joined.operations = argument.operations;
            } else {
                joined.operations.append(&mut argument.operations);
            }
        }
        joined.operations.push(if too_many { Operation::TooManyArguments } else { operation });
        joined
    }

    /// AND: the right side is only evaluated when the left one is true.
    pub(super) fn and(self, right: Self) -> Self {
        self.lazily(Operation::And, right)
    }

    /// OR: the right side is only evaluated when the left one is false.
    pub(super) fn or(self, right: Self) -> Self {
        self.lazily(Operation::Or, right)
    }

    fn lazily(mut self, operation: fn(u32) -> Operation, mut right: Self) -> Self {
        right.operations.push(Operation::Logical);
        self.operations.push(operation(distance(right.operations.len())));
        self.operations.append(&mut right.operations);
        self.depth = self.depth.max(right.depth);
        self
    }

    /// CASE: the value of the first branch whose condition holds.
    pub(super) fn case(branches: Vec<Branch>, otherwise: Self) -> Self {
        // A branch is its condition, a jump over the value, the value, and a jump behind everything.
        let length = |branch: &Branch| branch.condition.operations.len() + branch.value.operations.len() + 2;
        let mut behind = branches.iter().map(length).sum::<usize>() + otherwise.operations.len();
        let mut joined = Self { operations: Vec::with_capacity(behind), depth: otherwise.depth };
        for mut branch in branches {
            behind -= length(&branch);
            let over = branch.value.operations.len() + 1;
            joined.depth = joined.depth.max(branch.condition.depth).max(branch.value.depth);
            joined.operations.append(&mut branch.condition.operations);
            joined.operations.push(Operation::Unless(distance(over)));
            joined.operations.append(&mut branch.value.operations);
            joined.operations.push(Operation::Jump(distance(behind)));
        }
        joined.operations.extend(otherwise.operations);
        joined
    }

    pub(super) fn finish(self) -> Program {
        Program::new(self.operations, self.depth)
    }
}

/// No script is so long that this would not fit.
fn distance(operations: usize) -> u32 {
    u32::try_from(operations).unwrap_or(u32::MAX)
}
