//! Grammar of module scope: version, files, variables, functions and debug sections.

use super::error::ParseError;
use super::expand;
use super::lexer::Kind;
use super::parser::Parser;
use super::target;
use super::tree::{Body, Function, Initial, Module, Operand, Variable};
use crate::files::{Recorded, unescape};
use crate::hash::Map;

/// Parses a PTX text.
///
/// # Errors
/// Returns a [`ParseError`] with line and column of the first text that is not PTX.
pub fn parse(text: &str) -> Result<Module<'_>, ParseError> {
    let mut parser = Parser::new(text)?;
    let mut module = Module::default();
    while parser.token.kind != Kind::End {
        parser.item(&mut module)?;
    }
    choose(&mut module.functions);
    expand::expand(&mut module)?;
    if module.version == (0, 0) {
        return Err(ParseError::on_line(1, "a text without `.version`", "PTX, which begins with `.version`"));
    }
    Ok(module)
}

/// Keeps one body of each function that has several, as a linker does: the one that is not weak, or else the first.
/// (A text is often joined of several by a driver's linker.)
fn choose(functions: &mut Vec<Function<'_>>) {
    let mut chosen = Map::default();
    for (at, function) in functions.iter().enumerate().filter(|(_, function)| function.body.is_some()) {
        let known = chosen.entry(function.name).or_insert(at);
        if functions[*known].weak && !function.weak {
            *known = at;
        }
    }
    let mut at = 0;
    functions.retain(|function| {
        at += 1;
        function.body.is_none() || !function.weak || chosen.get(function.name) == Some(&(at - 1))
    });
}

impl<'t> Parser<'t> {
    fn item(&mut self, module: &mut Module<'t>) -> Result<(), ParseError> {
        // Visibility has no effect, because the simulator loads one module.
        let mut weak = false;
        while self.token.kind == Kind::Word && matches!(self.token.text, ".visible" | ".weak" | ".common" | ".extern") {
            weak |= self.advance()?.text == ".weak";
        }
        if self.token.kind != Kind::Word {
            return Err(self.error("a directive such as `.version`, `.entry` or `.global`"));
        }
        let directive = self.advance()?;
        match directive.text {
            ".version" => {
                let at = self.token;
                module.version = self.version()?;
                if !target::is_version(module.version) {
                    return Err(self.error_at(at, "a version of PTX up to 9.5"));
                }
            }
            ".target" => {
                let at = self.token;
                module.target = self.word("an architecture such as `sm_90`")?;
                match target::first_version(module.target) {
                    None => return Err(self.error_at(at, "an architecture such as `sm_90`")),
                    Some((major, minor)) if module.version < (major, minor) => {
                        return Err(self.error_at(at, format!("`.version {major}.{minor}` or later for it")));
                    }
                    Some(_) => {}
                }
                while self.eat(",")? {
                    self.word("an option of `.target`")?;
                }
            }
            ".address_size" => match self.unsigned("64")? {
                64 => {}
                _ => return Err(self.error_at(directive, "`.address_size 64`: 32-bit addresses are not supported")),
            },
            ".file" => self.file(module)?,
            ".loc" => {
                self.loc()?;
            }
            ".section" => self.section(module)?,
            ".pragma" => self.skip_statement()?,
            ".alias" => self.skip_statement()?,
            ".entry" | ".func" => {
                let function = self.function(directive.text == ".entry", directive.line)?;
                module.functions.push(Function { weak, ..function });
            }
            ".global" | ".const" | ".shared" | ".tex" => {
                let variables = self.variables(&directive.text[1..])?;
                self.arrays.extend(variables.iter().map(|variable| (variable.name, variable.element)));
                module.variables.extend(variables);
            }
            _ => return Err(self.error_at(directive, "a directive such as `.version`, `.entry` or `.global`")),
        }
        Ok(())
    }

    fn version(&mut self) -> Result<(u32, u32), ParseError> {
        let token = self.token;
        let parts = token.text.split_once('.').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
        match parts {
            Some(version) if token.kind == Kind::Number => {
                self.advance()?;
                Ok(version)
            }
            _ => Err(self.error("a version such as `7.8`")),
        }
    }

    /// The forms are `1 "name"`, `1 "directory" "name"` and `1 "name", time, size`.
    fn file(&mut self, module: &mut Module<'t>) -> Result<(), ParseError> {
        let number = self.unsigned32("a file number")?;
        if self.token.kind != Kind::String {
            return Err(self.error("a file name in quotes"));
        }
        let mut name = unescape(self.advance()?.text);
        if self.token.kind == Kind::String {
            name = format!("{name}/{}", unescape(self.advance()?.text));
        }
        while self.eat(",")? {
            self.unsigned("the time or size of the file")?;
        }
        module.files.push((number, name, Recorded::parse(self.rest_of_line())));
        Ok(())
    }

    fn skip_statement(&mut self) -> Result<(), ParseError> {
        while !self.at(";") {
            if self.token.kind == Kind::End {
                return Err(self.error("`;`"));
            }
            self.advance()?;
        }
        self.expect(";")
    }

    fn section(&mut self, module: &mut Module<'t>) -> Result<(), ParseError> {
        let name = self.word("a section name")?;
        while self.token.kind == Kind::Word {
            // The rest of a name with several dots, such as `.nv.debug`.
            self.advance()?;
        }
        if !self.at("{") {
            return Err(self.error("`{`"));
        }
        if name != ".debug_str" {
            let start = self.token.start + 1;
            self.lexer.skip_to_brace()?;
            self.advance()?;
            module.sections.push((name, self.text.get(start..self.token.start).unwrap_or_default()));
            return self.expect("}");
        }
        self.advance()?;
        while !self.at("}") {
            let word = self.word("`.b8`, a label, or `}`")?;
            if self.eat(":")? {
                module.strings.labels.insert(word, module.strings.bytes.len());
                continue;
            }
            loop {
                match self.number()? {
                    Operand::Integer(byte) if word == ".b8" => module.strings.bytes.push(byte as u8),
                    _ => {}
                }
                if !self.eat(",")? {
                    break;
                }
            }
        }
        self.expect("}")
    }

    fn function(&mut self, entry: bool, line: u32) -> Result<Function<'t>, ParseError> {
        let mut returns = Vec::new();
        if !entry && self.at("(") {
            let at = self.token;
            returns = self.parameters()?;
            if returns.len() > 1 && returns.iter().any(|result| result.space == "param") {
                return Err(self.error_at(at, "several results in registers, `.reg`, or one result"));
            }
        }
        let name = self.word("a function name")?;
        let mut params = Vec::new();
        if self.at("(") {
            let at = self.token;
            params = self.parameters()?;
            if entry && params.iter().any(|param| param.space == "reg") {
                return Err(self.error_at(at, "parameters of an entry in `.param`"));
            }
        }
        let mut function = Function {
            name,
            entry,
            weak: false,
            returns,
            params,
            required_block: None,
            required_cluster: None,
            max_threads: None,
            max_registers: None,
            body: None,
            line,
        };
        self.directives(&mut function)?;
        if self.eat(";")? {
            return Ok(function);
        }
        if !self.at("{") {
            return Err(self.error("`{` or `;`"));
        }
        let mut body = Body::default();
        self.body(&mut body)?;
        function.body = Some(body);
        Ok(function)
    }

    /// Parses a parameter list such as `(.param .b32 a, .reg .b32 b)`.
    ///
    /// # Errors
    /// A syntax error in the list.
    pub(super) fn parameters(&mut self) -> Result<Vec<Variable<'t>>, ParseError> {
        self.expect("(")?;
        let mut list = Vec::new();
        while !self.eat(")")? {
            if !list.is_empty() {
                self.expect(",")?;
            }
            let space = match self.token.text {
                ".param" => "param",
                ".reg" => "reg",
                _ => return Err(self.error("`.param`")),
            };
            self.advance()?;
            list.push(self.declarator(space)?);
        }
        Ok(list)
    }

    /// Parses the performance directives between the parameters and the body.
    fn directives(&mut self, function: &mut Function<'t>) -> Result<(), ParseError> {
        while self.token.kind == Kind::Word && self.token.text.starts_with('.') {
            let directive = self.advance()?;
            if directive.text == ".pragma" {
                self.skip_statement()?;
                continue;
            }
            let mut values = [1u32; 3];
            let mut count = 0;
            while self.token.kind == Kind::Number {
                let value = self.unsigned32("a number that fits in 32 bits")?;
                if let Some(place) = values.get_mut(count) {
                    *place = value;
                }
                count += 1;
                if !self.eat(",")? {
                    break;
                }
            }
            match directive.text {
                ".reqntid" => function.required_block = Some(values),
                ".reqnctapercluster" => function.required_cluster = Some(values),
                ".maxnreg" => function.max_registers = Some(values[0]),
                ".maxntid" => function.max_threads = Some(values.iter().fold(1, |a, &b| a.saturating_mul(b))),
                _ => {}
            }
        }
        Ok(())
    }

    /// Parses the declarators of one declaration: `.align 4 .b8 a[16] = {1, 2}, b;`.
    ///
    /// # Errors
    /// A syntax error in the declaration, an array that is too large, or more initial values than elements.
    pub(super) fn variables(&mut self, space: &'t str) -> Result<Vec<Variable<'t>>, ParseError> {
        let mut list = vec![self.declarator(space)?];
        self.initialiser(&mut list)?;
        while self.eat(",")? {
            let (kind, lanes, element, align, managed) =
                list.first().map_or(("b32", 1, 4, 4, false), |v| (v.kind, v.lanes, v.element, v.align, v.managed));
            let line = self.token.line;
            let name = self.word("a name")?;
            let mut size = element;
            while self.eat("[")? {
                let at = self.token;
                size = size
                    .checked_mul(self.length()?)
                    .filter(|&s| s < 1 << 40)
                    .ok_or_else(|| self.error_at(at, "a smaller array"))?;
                self.expect("]")?;
            }
            let (unsized_array, pointer, init) = (false, false, Vec::new());
            list.push(Variable {
                space,
                name,
                kind,
                lanes,
                element,
                size,
                align,
                unsized_array,
                pointer,
                managed,
                init,
                line,
            });
            self.initialiser(&mut list)?;
        }
        self.expect(";")?;
        Ok(list)
    }

    fn initialiser(&mut self, list: &mut [Variable<'t>]) -> Result<(), ParseError> {
        let Some(variable) = list.last_mut() else { return Ok(()) };
        if !self.eat("=")? {
            return Ok(());
        }
        // Nested arrays nest their braces; the elements still come in memory order.
        let mut depth = 0usize;
        loop {
            if self.eat("{")? {
                depth += 1;
                continue;
            }
            if self.eat("}")? {
                depth = depth.saturating_sub(1);
            } else {
                let value = self.initial()?;
                variable.init.push(value);
            }
            if depth == 0 {
                break;
            }
            if !self.eat(",")? && !self.at("}") {
                return Err(self.error("`,` or `}`"));
            }
        }
        let written = (variable.init.len() as u64).saturating_mul(variable.element);
        if variable.unsized_array {
            (variable.size, variable.unsized_array) = (written, false);
        } else if written > variable.size {
            return Err(self.error(format!("at most {} initial values", variable.size / variable.element.max(1))));
        }
        Ok(())
    }

    fn initial(&mut self) -> Result<Initial<'t>, ParseError> {
        if self.token.kind != Kind::Word {
            return Ok(Initial::Value(self.constant()?));
        }
        let mut symbol = self.word("a number or a symbol")?;
        let generic = symbol == "generic" && self.eat("(")?;
        if generic {
            symbol = self.word("a symbol")?;
            self.expect(")")?;
        }
        let offset = self.offset()?;
        Ok(Initial::Address { symbol, offset, generic })
    }
}
