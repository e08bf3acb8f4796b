import { expect, test } from 'vitest';
import { curlOf } from '../src/lib/services/curl';
import { clock, mebibytes, number, percent } from '../src/lib/services/format';

test('sizes, numbers and shares are shown in the unit that fits', () => {
	expect([mebibytes(512), mebibytes(24_000)]).toEqual(['512 MiB', '23.4 GiB']);
	expect([number(0.44), number(12_345.6), percent(0.414)]).toEqual(['0.4', '12,346', '41 %']);
});

test('a time has its day unless that is today', () => {
	const noon = new Date(2026, 0, 31, 12, 0, 5);
	expect(clock(noon.getTime() / 1000, noon)).toBe('12:00:05');
	expect(clock(noon.getTime() / 1000, new Date(2026, 1, 1))).toBe('31/01/2026 12:00:05');
});

test('a command keeps a prefix of the page and quotes for the shell', () => {
	const command = curlOf('https://host/ai/ui/admin/models?x=1', 'POST', '/v1/admin/models/a/load', { stop: "it's" });
	expect(command).toBe(
		"curl -X POST 'https://host/ai/v1/admin/models/a/load' -H \"Authorization: Bearer $STOKER_ADMIN_KEY\"" +
			` -H 'Content-Type: application/json' -d '{"stop":"it'\\''s"}'`
	);
	expect(curlOf('http://127.0.0.1:8080/ui/', 'GET', '/v1/models')).toBe(
		"curl 'http://127.0.0.1:8080/v1/models' -H \"Authorization: Bearer $STOKER_API_KEY\""
	);
});
