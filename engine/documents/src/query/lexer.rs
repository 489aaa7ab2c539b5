//! Tokens of a filter, each with the column where it begins.

/// A token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// A name, a number, or a value without quotes.
    Word(String),
    /// A value in double quotes.
    Quoted(String),
    Operator(Operator),
    Open,
    Close,
    OpenList,
    CloseList,
    Comma,
    End,
}

/// A comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Token {
    /// How a message names it.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Word(word) => format!("`{word}`"),
            Self::Quoted(text) => format!("{text:?}"),
            Self::Operator(operator) => format!("`{}`", operator.symbol()),
            Self::Open => "`(`".to_owned(),
            Self::Close => "`)`".to_owned(),
            Self::OpenList => "`[`".to_owned(),
            Self::CloseList => "`]`".to_owned(),
            Self::Comma => "`,`".to_owned(),
            Self::End => "the end".to_owned(),
        }
    }
}

impl Operator {
    pub(super) fn symbol(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }
}

/// A message and the column it is about, counted in characters from 1.
pub(super) type Fault = (usize, String);

/// Splits a filter into tokens; the last one is the end.
pub(super) fn tokens(text: &str) -> Result<Vec<(usize, Token)>, Fault> {
    let mut tokens = Vec::new();
    let mut characters = text.chars().enumerate().map(|(index, character)| (index + 1, character)).peekable();
    let mut columns = 0;
    while let Some((column, character)) = characters.next() {
        columns = column;
        let mut or_equal = || characters.next_if(|(_, next)| *next == '=').is_some();
        let token = match character {
            space if space.is_whitespace() => continue,
            '(' => Token::Open,
            ')' => Token::Close,
            '[' => Token::OpenList,
            ']' => Token::CloseList,
            ',' => Token::Comma,
            '=' => {
                or_equal();
                Token::Operator(Operator::Equal)
            }
            '<' if or_equal() => Token::Operator(Operator::LessOrEqual),
            '<' => Token::Operator(Operator::Less),
            '>' if or_equal() => Token::Operator(Operator::GreaterOrEqual),
            '>' => Token::Operator(Operator::Greater),
            '!' if or_equal() => Token::Operator(Operator::NotEqual),
            '"' => {
                let mut value = String::new();
                loop {
                    match characters.next() {
                        None => return Err((column, "the quoted value has no closing `\"`".to_owned())),
                        Some((_, '"')) => break,
                        Some((at, '\\')) => match characters.next() {
                            Some((_, escaped @ ('"' | '\\'))) => value.push(escaped),
                            _ => return Err((at, "`\\` must be followed by `\"` or `\\`".to_owned())),
                        },
                        Some((at, character)) => {
                            columns = at;
                            value.push(character);
                        }
                    }
                }
                Token::Quoted(value)
            }
            character if is_of_word(character) => {
                let mut word = character.to_string();
                while let Some((at, next)) = characters.next_if(|(_, next)| is_of_word(*next)) {
                    columns = at;
                    word.push(next);
                }
                Token::Word(word)
            }
            other => {
                return Err((column, format!("unexpected {other:?}; write values that have it in quotes")));
            }
        };
        tokens.push((column, token));
    }
    tokens.push((columns + 1, Token::End));
    Ok(tokens)
}

fn is_of_word(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '-' | '+' | '.' | ':' | '/' | '@')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<Token> {
        tokens(text).unwrap().into_iter().map(|(_, token)| token).collect()
    }

    #[test]
    fn tokens_need_no_spaces() {
        let word = |text: &str| Token::Word(text.to_owned());
        assert_eq!(
            of("a>=1.5e-3"),
            [word("a"), Token::Operator(Operator::GreaterOrEqual), word("1.5e-3"), Token::End]
        );
        assert_eq!(
            of(r#"(b!="x \" \\")"#),
            [
                Token::Open,
                word("b"),
                Token::Operator(Operator::NotEqual),
                Token::Quoted("x \" \\".to_owned()),
                Token::Close,
                Token::End
            ]
        );
        assert_eq!(of("d = 2026-01-31T00:00:00+01:00")[2], word("2026-01-31T00:00:00+01:00"));
        assert_eq!(of("  "), [Token::End]);
    }

    #[test]
    fn faults_have_their_column() {
        assert_eq!(tokens("ä = \"x").unwrap_err().0, 5);
        assert_eq!(tokens("a = 1; b").unwrap_err().0, 6);
        assert_eq!(tokens("a = \"\\n\"").unwrap_err().0, 6);
        assert_eq!(tokens("a ! b").unwrap_err().0, 3);
    }
}
