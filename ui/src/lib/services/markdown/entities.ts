/** Character references of HTML as the characters: the numeric ones, and the names that answers contain. */

const NAMES: Record<string, string> = {
	...{ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0', shy: '\u00ad', ensp: '\u2002', emsp: '\u2003', thinsp: '\u2009' },
	...{ copy: '©', reg: '®', trade: '™', hellip: '…', mdash: '—', ndash: '–', bull: '•', middot: '·', sect: '§', para: '¶' },
	...{ lsquo: '‘', rsquo: '’', sbquo: '‚', ldquo: '“', rdquo: '”', bdquo: '„', laquo: '«', raquo: '»', dagger: '†', Dagger: '‡' },
	...{ times: '×', divide: '÷', plusmn: '±', minus: '−', le: '≤', ge: '≥', ne: '≠', asymp: '≈', infin: '∞', radic: '√', sum: '∑' },
	...{ larr: '←', rarr: '→', uarr: '↑', darr: '↓', harr: '↔', lArr: '⇐', rArr: '⇒', hArr: '⇔', check: '✓', cross: '✗', star: '☆' },
	...{ euro: '€', pound: '£', yen: '¥', cent: '¢', deg: '°', micro: 'µ', frac12: '½', frac14: '¼', frac34: '¾', sup2: '²', sup3: '³' },
	...{ alpha: 'α', beta: 'β', gamma: 'γ', delta: 'δ', epsilon: 'ε', lambda: 'λ', mu: 'μ', pi: 'π', sigma: 'σ', theta: 'θ', omega: 'ω' },
	...{ auml: 'ä', ouml: 'ö', uuml: 'ü', Auml: 'Ä', Ouml: 'Ö', Uuml: 'Ü', szlig: 'ß', eacute: 'é', egrave: 'è', agrave: 'à', ccedil: 'ç' },
	...{ ntilde: 'ñ', aring: 'å', aelig: 'æ', oslash: 'ø', Delta: 'Δ', Omega: 'Ω', Sigma: 'Σ', Pi: 'Π', lbrace: '{', rbrace: '}', vert: '|' }
};

/** The text with its references resolved; an unknown one stays as it is written. */
export function decodeEntities(text: string): string {
	if (!text.includes('&')) return text;
	return text.replace(/&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([A-Za-z][A-Za-z0-9]{1,30}));/g, (written, decimal, hex, name) => {
		if (name) return Object.hasOwn(NAMES, name) ? (NAMES[name] ?? written) : written;
		const code = decimal ? Number(decimal) : Number.parseInt(hex, 16);
		const isCharacter = code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
		return isCharacter ? String.fromCodePoint(code) : '\ufffd';
	});
}
