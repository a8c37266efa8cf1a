import GRPCCore
import GRPCProtobuf

/// Why a service refused a call: decide by the reason, never by the message.
public struct RanktrailError: Error, Sendable {
  /// The status code.
  public let code: RPCError.Code
  /// A value of `ErrorReason` without its prefix, such as `EVALUATION_JUDGMENT_CONFLICT`.
  public let reason: String
  /// What the contract names beside the reason.
  public let metadata: [String: String]
  /// One sentence that names the field and the fix.
  public let message: String

  /// Decodes a status that a Ranktrail service sent; nil for any other.
  public init?(_ error: RPCError) {
    guard let status = try? error.unpackGoogleRPCStatus(),
      let info = status.details.compactMap({ $0.errorInfo }).first(where: { $0.domain == "ranktrail" })
    else { return nil }
    self.code = error.code
    self.reason = info.reason
    self.metadata = info.metadata
    self.message = status.message
  }
}

/// Makes a call, and throws what a service refused it with as ``RanktrailError``.
func decodingRefusals<Result: Sendable>(_ call: () async throws -> Result) async throws -> Result {
  do {
    return try await call()
  } catch let error as RPCError {
    if let refusal = RanktrailError(error) { throw refusal }
    throw error
  }
}
