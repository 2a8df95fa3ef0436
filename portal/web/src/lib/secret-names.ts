import { gateway, take } from "./api";

/** Returns the name of each secret of the key by its id; none for who may not see them. */
export async function secretNames(): Promise<Map<string, string>> {
  try {
    const { secrets } = await take(gateway.GET("/v1/keys/me/secrets"));
    return new Map(secrets.map(({ id, name }) => [id, name]));
  } catch {
    return new Map();
  }
}
