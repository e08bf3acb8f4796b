import { afterNavigate, replaceState } from '$app/navigation';
import { page } from '$app/state';
import { withParameter } from '$lib/services/table';

/** What a page shows the details of, by a parameter of its address: a link opens them, and closing them takes it away. */
export function useAddressChoice(parameter: string): { value: string | undefined } {
	let value: string | undefined = $state();
	afterNavigate(({ to }) => {
		value = to?.url.searchParams.get(parameter) || undefined;
	});
	return {
		get value() {
			return value;
		},
		set value(wanted: string | undefined) {
			value = wanted;
			const query = withParameter(location.search, parameter, wanted);
			// eslint-disable-next-line svelte/no-navigation-without-resolve -- the present page, with another query
			replaceState(`${location.pathname}${query}${location.hash}`, page.state);
		}
	};
}
