//! Small changes of a program: one word of one line each, at a place that the program's name decides.

/// A change of one line, given numbers to choose by; `None` if the line has nothing to change.
type Change = fn(&str, u64) -> Option<String>;

/// The kinds of changes.
const CHANGES: [(&str, Change); 12] = [
    ("type", change_type),
    ("float", |line, at| change_operand(line, at, &|operand| is_integer(operand).then(|| "1.0".to_string()))),
    ("large", |line, at| {
        change_operand(line, at, &|operand| is_integer(operand).then(|| "0x123456789ABCDEF0".to_string()))
    }),
    ("integer", |line, at| change_operand(line, at, &|operand| is_register(operand).then(|| "7".to_string()))),
    ("register", |line, at| change_operand(line, at, &other_register)),
    ("undeclared", |line, at| change_operand(line, at, &|operand| is_register(operand).then(|| "%none1".to_string()))),
    ("special", |line, at| change_operand(line, at, &|operand| is_register(operand).then(|| "%laneid".to_string()))),
    ("fewer operands", |line, _| in_operands(line, |list| list.rsplit_once(',').map(|(rest, _)| rest.to_string()))),
    ("more operands", |line, _| in_operands(line, |list| Some(format!("{list}, {}", list.rsplit(',').next()?.trim())))),
    ("fewer words", |line, at| words(line, |list| drop_one(list, at))),
    ("other order", |line, at| words(line, |list| rotate(list, at))),
    ("no end", |line, _| line.contains(';').then(|| line.replacen(';', "", 1))),
];

/// Returns the program itself, it for other versions and targets, and with each kind of change at two places.
pub fn of(name: &str, text: &str) -> Vec<(String, String)> {
    // FNV-1a, Fowler, Noll and Vo.
    let seed = name
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    let mut all = vec![("as it is".to_string(), text.to_string())];
    let old = ["version 42.0", "version 6.0", "target sm_50", "target sm_70"];
    let wanted = old[seed as usize % old.len()];
    let (directive, _) = wanted.split_once(' ').unwrap_or((wanted, ""));
    let lines: Vec<&str> = text.lines().collect();
    let header = |line: &&str| {
        let is_it = line.starts_with(&format!(".{directive} "));
        if is_it { format!(".{wanted}") } else { (*line).to_string() }
    };
    all.push((wanted.to_string(), lines.iter().map(header).collect::<Vec<_>>().join("\n")));
    for (number, (kind, change)) in CHANGES.into_iter().enumerate() {
        let start = seed.rotate_left(5 * number as u32);
        let tries = (0..lines.len()).map(|i| (i + start as usize % lines.len()) % lines.len());
        let changed = tries
            .filter(|&i| is_instruction(lines[i]))
            .filter_map(|i| change(lines[i], start >> 32).map(|line| (i, line)));
        for (i, line) in changed.take(1) {
            let mut mutated: Vec<&str> = lines.clone();
            mutated[i] = &line;
            all.push((format!("{kind}, line {}: {}", i + 1, line.trim()), mutated.join("\n")));
        }
    }
    all
}

/// Whether a line has one instruction.
fn is_instruction(line: &str) -> bool {
    let line = line.split("//").next().unwrap_or_default().trim();
    let first = line.chars().next();
    line.ends_with(';') && line.matches(';').count() == 1 && first.is_some_and(|c| c.is_ascii_lowercase() || c == '@')
}

/// Splits a line into what precedes the opcode, the opcode, and what follows.
fn split(line: &str) -> Option<(&str, &str, &str)> {
    let code = line.len() - line.trim_start().len();
    let start = if line[code..].starts_with('@') { code + line[code..].find(' ')? + 1 } else { code };
    let end = start + line[start..].find([' ', ';', '\t'])?;
    Some((&line[..start], &line[start..end], &line[end..]))
}

fn change_type(line: &str, at: u64) -> Option<String> {
    const TYPES: [&str; 9] = ["u32", "s32", "b32", "f32", "u64", "b64", "f64", "u16", "pred"];
    words(line, |list| {
        let place = list.iter().rposition(|word| TYPES.contains(word))?;
        let new = TYPES[at as usize % TYPES.len()];
        (list[place] != new).then(|| list[place] = new)
    })
}

/// Applies a change to the words of an opcode.
fn words<T>(line: &str, change: impl Fn(&mut Vec<&str>) -> Option<T>) -> Option<String> {
    let (before, opcode, after) = split(line)?;
    let mut list: Vec<&str> = opcode.split('.').collect();
    change(&mut list)?;
    let new = list.join(".");
    (new != opcode).then(|| format!("{before}{new}{after}"))
}

fn drop_one(list: &mut Vec<&str>, at: u64) -> Option<()> {
    let words = list.len().checked_sub(1).filter(|&words| words > 0)?;
    list.remove(1 + at as usize % words);
    Some(())
}

fn rotate(list: &mut [&str], at: u64) -> Option<()> {
    let distances = list.len().checked_sub(2).filter(|&distances| distances > 0)?;
    list[1..].rotate_left(1 + at as usize % distances);
    Some(())
}

fn in_operands(line: &str, change: impl Fn(&str) -> Option<String>) -> Option<String> {
    let (before, opcode, after) = split(line)?;
    let (list, end) = after.split_at(after.find(';')?);
    if list.contains(['{', '(']) {
        return None;
    }
    Some(format!("{before}{opcode}{}{end}", change(list)?))
}

/// Replaces an operand for which there is another one.
fn change_operand(line: &str, at: u64, other: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    in_operands(line, |list| {
        let mut operands: Vec<String> = list.split(',').map(|operand| operand.trim().to_string()).collect();
        let count = operands.len();
        let place = (0..count).map(|i| (i + at as usize) % count).find(|&i| other(&operands[i]).is_some())?;
        operands[place] = other(&operands[place])?;
        Some(format!(" {}", operands.join(", ")))
    })
}

fn is_integer(operand: &str) -> bool {
    operand.starts_with(|c: char| c.is_ascii_digit()) && !operand.starts_with("0f") && !operand.starts_with("0d")
}

fn is_register(operand: &str) -> bool {
    operand.starts_with('%') && !operand.contains(['.', '|', '+'])
}

/// Returns a register of another type with the same number.
fn other_register(operand: &str) -> Option<String> {
    let number = operand.trim_start_matches(|c: char| !c.is_ascii_digit());
    let kind = operand.strip_suffix(number)?;
    let other = match kind {
        "%r" => "%rd",
        "%rd" => "%r",
        "%f" => "%r",
        "%p" => "%r",
        _ => return None,
    };
    Some(format!("{other}{number}"))
}
