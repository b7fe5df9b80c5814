//! Grammar of function bodies: statements and their operands.

use super::error::ParseError;
use super::lexer::{Kind, Token};
use super::parser::{Parser, vector_lanes};
use super::tree::{Body, Instruction, Loc, Name, Operand, Registers, Span, Statement};

/// Limit on the nesting of scopes, because a name is looked up through all open scopes.
const MOST_SCOPES: usize = 100;

impl<'t> Parser<'t> {
    /// Parses a function body, from `{` to the `}` that closes it.
    pub(super) fn body(&mut self, body: &mut Body<'t>) -> Result<(), ParseError> {
        let open = self.token;
        let mut depth = 0usize;
        let mut scratch = Vec::new();
        loop {
            if self.at("{") && depth == MOST_SCOPES {
                return Err(self.error(format!("at most {MOST_SCOPES} scopes inside each other")));
            } else if self.eat("{")? {
                depth += 1;
                body.statements.push(Statement::Open);
            } else if self.eat("}")? {
                depth -= 1;
                body.statements.push(Statement::Close);
                if depth == 0 {
                    return Ok(());
                }
            } else if self.token.kind == Kind::End {
                return Err(self.error_at(open, "a `}` for this `{`"));
            } else {
                self.statement(body, &mut scratch)?;
            }
        }
    }

    fn statement(&mut self, body: &mut Body<'t>, scratch: &mut Vec<Operand<'t>>) -> Result<(), ParseError> {
        if self.eat(";")? {
            return Ok(());
        }
        let mut guard = None;
        if self.eat("@")? {
            let negated = self.eat("!")?;
            guard = Some((self.word("a predicate")?, negated));
        }
        if self.token.kind != Kind::Word {
            return Err(self.error("a statement"));
        }
        let first = self.advance()?;
        if guard.is_none() {
            if first.text.starts_with('.') {
                return self.directive(first, body);
            }
            if self.eat(":")? {
                return self.label(first, body, scratch);
            }
        }
        self.in_call = first.text.starts_with("call");
        let operands = self.operands(body, scratch)?;
        let end = self.previous_end;
        self.expect(";")?;
        let (line, start) = (first.line, first.start);
        body.statements.push(Statement::Instruction(Instruction {
            guard,
            opcode: first.text,
            operands,
            line,
            start,
            end,
        }));
        Ok(())
    }

    fn label(
        &mut self,
        name: Token<'t>,
        body: &mut Body<'t>,
        scratch: &mut Vec<Operand<'t>>,
    ) -> Result<(), ParseError> {
        if self.eat_word(".branchtargets")? || self.eat_word(".calltargets")? {
            let targets = self.operands(body, scratch)?;
            self.expect(";")?;
            body.statements.push(Statement::BranchTargets(name.text, targets));
        } else if self.eat_word(".callprototype")? {
            // Calls repeat the types of their parameters, so the prototype is only checked for syntax.
            if self.at("(") {
                self.parameters()?;
            }
            self.word("`_`")?;
            if self.at("(") {
                self.parameters()?;
            }
            while self.token.kind == Kind::Word && self.token.text.starts_with('.') {
                self.advance()?;
                if self.token.kind == Kind::Number {
                    self.advance()?;
                }
            }
            self.expect(";")?;
        } else {
            body.statements.push(Statement::Label(name.text, name.line));
        }
        Ok(())
    }

    fn directive(&mut self, directive: Token<'t>, body: &mut Body<'t>) -> Result<(), ParseError> {
        match directive.text {
            ".reg" => return self.registers(directive.line, body),
            ".local" | ".shared" | ".global" | ".const" | ".param" => {
                let list = self.variables(&directive.text[1..])?;
                body.statements.extend(list.into_iter().map(Statement::Variable));
            }
            ".extern" | ".visible" | ".weak" => {
                let space = self.word("a state space")?;
                let list = self.variables(space.trim_start_matches('.'))?;
                body.statements.extend(list.into_iter().map(Statement::Variable));
            }
            ".loc" => {
                let loc = self.loc()?;
                body.statements.push(Statement::Location(loc));
            }
            ".pragma" => loop {
                if self.token.kind != Kind::String {
                    return Err(self.error("a string"));
                }
                let text = self.advance()?.text;
                body.statements.push(Statement::Pragma(text));
                if !self.eat(",")? {
                    return self.expect(";");
                }
            },
            _ => return Err(self.error_at(directive, "a directive such as `.reg`, `.local` or `.loc`")),
        }
        Ok(())
    }

    /// Parses the rest of a register declaration: `.b32 %r<5>;` or `.pred p, q;`.
    fn registers(&mut self, line: u32, body: &mut Body<'t>) -> Result<(), ParseError> {
        let mut kind = self.word("a register type such as `.b32`")?;
        let lanes = vector_lanes(kind);
        if lanes > 1 {
            kind = self.word("a register type such as `.b32`")?;
        }
        let kind = kind.trim_start_matches('.');
        self.vector(self.token, kind, lanes)?;
        loop {
            let name = self.word("a register name")?;
            let mut count = None;
            if self.eat("<")? {
                count = Some(self.unsigned32("a number of registers")?);
                self.expect(">")?;
            }
            body.statements.push(Statement::Registers(Registers { kind, name, lanes, count, line }));
            if !self.eat(",")? {
                break;
            }
        }
        self.expect(";")
    }

    /// Parses the operands of `.loc`: `1 13 0, function_name label+4, inlined_at 1 14 19`.
    pub(super) fn loc(&mut self) -> Result<Loc<'t>, ParseError> {
        let file = self.unsigned32("a file number")?;
        let line = self.unsigned32("a line number")?;
        let column = if self.token.kind == Kind::Number { self.unsigned32("a column number")? } else { 0 };
        let mut loc = Loc { file, line, column, function: None, inlined_at: None };
        while self.eat(",")? {
            match self.word("`function_name` or `inlined_at`")? {
                "function_name" => {
                    let label = self.word("a label")?;
                    loc.function = Some((label, self.offset()? as u64));
                }
                "inlined_at" => {
                    let file = self.unsigned32("a file number")?;
                    let line = self.unsigned32("a line number")?;
                    let column = if self.token.kind == Kind::Number { self.unsigned32("a column number")? } else { 0 };
                    loc.inlined_at = Some((file, line, column));
                }
                _ => return Err(self.error("`function_name` or `inlined_at`")),
            }
        }
        Ok(loc)
    }

    fn operands(&mut self, body: &mut Body<'t>, scratch: &mut Vec<Operand<'t>>) -> Result<Span, ParseError> {
        scratch.clear();
        if !self.at(";") {
            loop {
                let operand = self.operand(body)?;
                scratch.push(operand);
                if !self.eat(",")? {
                    break;
                }
            }
        }
        let start = body.operands.len();
        body.operands.append(scratch);
        self.span(start, body)
    }

    fn span(&self, start: usize, body: &Body<'t>) -> Result<Span, ParseError> {
        match (u32::try_from(start), u32::try_from(body.operands.len())) {
            (Ok(start), Ok(end)) => Ok(start..end),
            _ => Err(self.error("fewer than 2^32 operands in a function")),
        }
    }

    fn operand(&mut self, body: &mut Body<'t>) -> Result<Operand<'t>, ParseError> {
        match (self.token.kind, self.token.text) {
            (Kind::Word, text) if text != "WARP_SZ" => {
                self.advance()?;
                if self.eat("|")? {
                    return Ok(Operand::Pair(text, self.word("a predicate")?));
                }
                let offset = if self.at("[") { self.element(text, body)? } else { self.offset()? };
                Ok(Operand::Name(Name { text, negated: false, offset }))
            }
            (Kind::Punctuation, "!") if self.lexer.clone().next()?.kind == Kind::Word => {
                self.advance()?;
                let text = self.word("a predicate")?;
                Ok(Operand::Name(Name { text, negated: true, offset: 0 }))
            }
            (Kind::Punctuation, "-") if self.precedes_register()? => {
                self.advance()?;
                let text = self.word("a register")?;
                Ok(Operand::Minus(Name { text, negated: false, offset: 0 }))
            }
            (Kind::Punctuation, "{") => Ok(Operand::Vector(self.group("}", body)?)),
            (Kind::Punctuation, "(") if self.in_call => Ok(Operand::List(self.group(")", body)?)),
            (Kind::Punctuation, "[") => self.address(body),
            (Kind::Number | Kind::Word, _) | (Kind::Punctuation, "-" | "+" | "~" | "!" | "(") => self.constant(),
            _ => Err(self.error("an operand")),
        }
    }

    /// Whether a name follows that is not a constant.
    fn precedes_register(&self) -> Result<bool, ParseError> {
        let next = self.lexer.clone().next()?;
        Ok(next.kind == Kind::Word && next.text != "WARP_SZ")
    }

    /// Parses the index of `array[2]`, the address of an element, and returns the element's offset in bytes.
    fn element(&mut self, array: &str, body: &Body<'t>) -> Result<i64, ParseError> {
        let open = self.advance()?;
        let Operand::Integer(index) = self.constant()? else { return Err(self.error_at(open, "an index")) };
        self.expect("]")?;
        let named = body.statements.iter().rev().find_map(|statement| match statement {
            Statement::Variable(variable) if variable.name == array => Some(variable.element),
            _ => None,
        });
        let named = named.or_else(|| self.arrays.get(array).copied());
        match (index, named) {
            (0, _) => Ok(0),
            (_, Some(bytes)) => Ok((index as i64).wrapping_mul(bytes as i64)),
            (_, None) => Err(self.error_at(open, "an array, or the index 0")),
        }
    }

    fn group(&mut self, close: &str, body: &mut Body<'t>) -> Result<Span, ParseError> {
        self.advance()?;
        let start = body.operands.len();
        while !self.eat(close)? {
            if body.operands.len() > start {
                self.expect(",")?;
            }
            let element = match (self.token.kind, self.token.text) {
                (Kind::Word, _) => {
                    let text = self.advance()?.text;
                    Operand::Name(Name { text, negated: false, offset: self.offset()? })
                }
                _ => self.constant()?,
            };
            body.operands.push(element);
        }
        self.span(start, body)
    }

    /// Parses a coordinate that is one register, or a vector register.
    fn coordinate(&mut self, body: &mut Body<'t>) -> Result<Span, ParseError> {
        let start = body.operands.len();
        let text = self.word("a coordinate")?;
        body.operands.push(Operand::Name(Name { text, negated: false, offset: 0 }));
        self.span(start, body)
    }

    /// Parses `[name+8]` or `[16]`; anything else in brackets becomes `Operand::Other`.
    fn address(&mut self, body: &mut Body<'t>) -> Result<Operand<'t>, ParseError> {
        let open = self.advance()?;
        let mut base = None;
        if self.token.kind == Kind::Word {
            base = Some(self.advance()?.text);
        }
        if base.is_some() && self.at("-") {
            return Err(self.error("`+-` for an offset below zero"));
        }
        let offset = match (base, self.token.kind) {
            (Some(_), _) => self.offset()?,
            (None, Kind::Number) => match self.constant()? {
                Operand::Integer(value) => value as i64,
                _ => return Err(self.error_at(open, "an address")),
            },
            (None, _) => 0,
        };
        if (base.is_some() || offset != 0) && self.eat("]")? {
            return Ok(Operand::Address(base, offset));
        }
        if self.previous_end > open.start + 1 && self.eat("]")? {
            return Ok(Operand::Address(None, 0));
        }
        if let (Some(base), 0) = (base, offset)
            && self.eat(",")?
            && (self.at("{") || self.token.kind == Kind::Word)
        {
            let span = if self.at("{") { self.group("}", body)? } else { self.coordinate(body)? };
            if self.eat("]")? {
                return Ok(Operand::Indexed(base, span));
            }
        }
        let mut depth = 1usize;
        while depth > 0 {
            if self.token.kind == Kind::End || self.at(";") {
                return Err(self.error_at(open, "a `]` for this `[`"));
            }
            depth = depth + usize::from(self.at("[")) - usize::from(self.at("]"));
            self.advance()?;
        }
        Ok(Operand::Other)
    }
}
