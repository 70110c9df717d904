/** Strings that some format, parser or program trips over, each once: more than 500. */
export function oddStrings (): string[] {
  const codes = (from: number, to: number) =>
    Array.from({ length: to - from + 1 }, (_, index) => String.fromCodePoint(from + index))
  const around = (odd: string) => [odd, `a${odd}b`, `${odd}${odd}end`]
  return [...new Set([
    // what ends, begins or refers to something in markup
    ...[
      '<', '>', '&', '"', "'", '`', ']]>', '<![CDATA[', '<!--', '-->', '<?xml?>', '</dd>', '</td>',
      '</textarea>', '</style>', '</title>', '</script>', '<script>alert(1)</script>',
      '<img src=x onerror=alert(1)>', '<svg/onload=alert(1)>', '" onfocus="alert(1)', "' autofocus '",
      'javascript:alert(1)', '&amp;', '&lt;b&gt;', '&#60;', '&#x3c;', '&nbsp;', '&notit;', '&unknown;', '&#0;',
      '&#13;', '&', '&&', '&;', '%3Cb%3E', '\\u003c', '{{7*7}}', '$' + '{7*7}'
    ].flatMap(around),
    // every control character, those that can be kept and those that cannot
    ...[...codes(0, 31), ...codes(127, 159)].flatMap(around),
    // whitespace, line ends and what is almost one
    ...[
      ' ', '  ', '\t', '\n', '\r', '\r\n', '\n\r', '\n\n', '\u00a0', '\u2028', '\u2029', '\u0085', '\ufeff',
      '\u200b', '\u3000', ' \n\t '
    ].flatMap(odd => [...around(odd), `${odd}begins`, `ends${odd}`]),
    // the other direction, what joins, and what stands on top of each other
    ...[
      'שלום', 'مرحبا', '\u202eabc', '\u202dabc\u202c', '\u2066abc\u2069', 'a\u0301', 'Z\u0351\u036b\u0343',
      '\u1100\u1161', 'ﬀ', 'İ', 'ß', 'ǅ', 'क्ष', 'ไทย', '日本語', '한국어', '𐍈', '𝔘𝔫𝔦'
    ].flatMap(around),
    ...[
      '😀', '👩‍👩‍👧', '👍🏽', '🇩🇪', '☃️', '\u{1f3f4}\u{e0067}\u{e007f}', '\u{10ffff}', '\u{1fffe}',
      '\ufdd0', '\ufffd', '\ue000'
    ].flatMap(around),
    // what is no character at all
    ...['\ud800', '\udfff', '\ude00\ud83d', '\ud83d', '\ufffe', '\uffff'].flatMap(around),
    // formulas, and what a spreadsheet takes for one
    ...[
      '=1+1', '+1', '-1', '@SUM(A1)', '=HYPERLINK("x")', "=cmd|' /C calc'!A0", '\t=1', '\r=1', '\n=1', ' =1',
      "'=1", '＝1', '＋1', '－1', '＠1', '-', '=', '+'
    ].flatMap(around),
    ...[
      ',', ';', '|', '","', '"quoted"', '""', 'a,"b"\r\nc', 'null', 'true', 'NaN', '1e309', '0x10', '1,000',
      '00', '-0', '2026-02-30', '1/2', '{}', '[]', '"', '\\', '\\n', '\\"'
    ].flatMap(around),
    // words that programs have a meaning for
    ...[
      '__proto__', 'constructor', 'toString', 'hasOwnProperty', 'then', 'undefined', 'NULL', '../../etc/passwd',
      'CON', '%00', '%0d%0aX:1', '+', '?a=b&c', '#', "'; DROP TABLE deals; --", '1 OR 1=1', '$(id)', '`id`',
      '(?:a+)+$', '.*', '%s%n', '%', '_'
    ].flatMap(around),
    'x'.repeat(1000),
    '😀'.repeat(500),
    '<'.repeat(1000),
    ''
  ])]
}

/** The text in plain letters, short enough for the name of a test. */
export function escapeForName (text: string): string {
  const escape = (letter: string) => `(${letter.charCodeAt(0).toString(16)})`
  return JSON.stringify(text).replace(/[^\x20-\x7e]|[\\#]/g, escape).slice(0, 50)
}
