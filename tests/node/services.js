// Clients of the services at the sockets that the environment names.
import { connect } from "node:net";
import { ConnectError } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { ErrorInfoSchema } from "./gen/google/rpc/error_details_pb.js";

/** Returns a transport over a Unix socket; the name in the URL is only the HTTP/2 authority. */
export function socketTransport(path) {
  return createGrpcTransport({
    baseUrl: "http://localhost",
    nodeOptions: { createConnection: () => connect(path) },
  });
}

export const rankerTransport = socketTransport(process.env.RANKTRAIL_RANKER_SOCKET);
export const historyTransport = socketTransport(process.env.RANKTRAIL_HISTORY_SOCKET);

/** Makes a call that must be refused; returns its reason and metadata. */
export async function refusal(call) {
  try {
    await call();
  } catch (error) {
    const [info] = ConnectError.from(error).findDetails(ErrorInfoSchema);
    if (info === undefined) throw error;
    return { reason: info.reason, domain: info.domain, metadata: info.metadata };
  }
  throw new Error("the call was not refused");
}
