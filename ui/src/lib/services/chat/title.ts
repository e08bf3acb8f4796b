const LONGEST = 60;

/** The title of a conversation that no person has named: the beginning of its first message, up to the end of a word. */
export function titleOf(text: string, fileName = ''): string {
	const line = text
		.split('\n')
		.map((one) => one.replace(/^[#>*\-\s`]+/, '').replace(/\s+/g, ' ').trim())
		.find((one) => one !== '');
	const whole = line ?? fileName.trim();
	const letters = [...whole];
	if (letters.length <= LONGEST) return whole;
	const cut = letters.slice(0, LONGEST).join('');
	const space = cut.lastIndexOf(' ');
	return `${(space > LONGEST / 2 ? cut.slice(0, space) : cut).trimEnd()}…`;
}
