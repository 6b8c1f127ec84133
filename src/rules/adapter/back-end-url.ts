/** What keeps a text from being the URL of an HTTP back end. Credentials have no place in configuration that is shown on pages. */
export function urlProblem(text: string): string | undefined {
  if (!URL.canParse(text)) return `"${text}" is no URL such as http://collector:4318`;
  const { protocol, username, password } = new URL(text);
  if (protocol !== 'http:' && protocol !== 'https:') return `"${text}" is no http or https URL`;
  return username + password === '' ? undefined : 'must not hold a user name or password';
}
