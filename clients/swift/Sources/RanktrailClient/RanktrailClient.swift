import Foundation
import GRPCCore
import GRPCNIOTransportHTTP2

/// Calls of the services of one data directory; the messages are the contracts' own.
///
/// Every call throws ``RanktrailError`` when a service refuses it, and `RPCError` when it never reached one.
public struct RanktrailClient<Transport: ClientTransport>: Sendable {
  private let ranker: Ranktrail_Ranker_V1_RankerService.Client<Transport>
  private let history: Ranktrail_History_V1_HistoryService.Client<Transport>
  private let evaluation: Ranktrail_Evaluation_V1_EvaluationService.Client<Transport>

  /// Creates a client of two running gRPC clients; history also serves the evaluation set.
  public init(ranker: GRPCClient<Transport>, history: GRPCClient<Transport>) {
    self.ranker = Ranktrail_Ranker_V1_RankerService.Client(wrapping: ranker)
    self.history = Ranktrail_History_V1_HistoryService.Client(wrapping: history)
    self.evaluation = Ranktrail_Evaluation_V1_EvaluationService.Client(wrapping: history)
  }

  /// Answers a query from a project's memory, and records how.
  public func activateMemory(
    _ request: Ranktrail_Ranker_V1_ActivateMemoryRequest,
    options: CallOptions = .defaults
  ) async throws -> Ranktrail_Ranker_V1_ActivateMemoryResponse {
    try await decodingRefusals {
      try await ranker.activateMemory(request, options: options)
    }
  }

  /// Lists Runs, newest first.
  public func listRetrievalRuns(
    _ request: Ranktrail_History_V1_ListRetrievalRunsRequest,
    options: CallOptions = .defaults
  ) async throws -> Ranktrail_History_V1_ListRetrievalRunsResponse {
    try await decodingRefusals {
      try await history.listRetrievalRuns(request, options: options)
    }
  }

  /// Returns one Run with its candidates.
  public func getRetrievalRun(
    _ request: Ranktrail_History_V1_GetRetrievalRunRequest,
    options: CallOptions = .defaults
  ) async throws -> Ranktrail_History_V1_GetRetrievalRunResponse {
    try await decodingRefusals {
      try await history.getRetrievalRun(request, options: options)
    }
  }

  /// Deletes Runs that no case pins.
  public func clearRetrievalRuns(
    _ request: Ranktrail_History_V1_ClearRetrievalRunsRequest,
    options: CallOptions = .defaults
  ) async throws -> Ranktrail_History_V1_ClearRetrievalRunsResponse {
    try await decodingRefusals {
      try await history.clearRetrievalRuns(request, options: options)
    }
  }

  /// Pins a succeeded Run as a case.
  public func createEvaluationCase(
    _ request: Ranktrail_Evaluation_V1_CreateEvaluationCaseRequest,
    options: CallOptions = .defaults
  ) async throws -> Ranktrail_Evaluation_V1_CreateEvaluationCaseResponse {
    try await decodingRefusals {
      try await evaluation.createEvaluationCase(request, options: options)
    }
  }

  /// Replaces a case's whole judgment set, if its version is the expected one.
  public func replaceEvaluationJudgments(
    _ request: Ranktrail_Evaluation_V1_ReplaceEvaluationJudgmentsRequest,
    options: CallOptions = .defaults
  ) async throws -> Ranktrail_Evaluation_V1_ReplaceEvaluationJudgmentsResponse {
    try await decodingRefusals {
      try await evaluation.replaceEvaluationJudgments(request, options: options)
    }
  }

  /// Hands over the exported document, part by part.
  public func exportEvaluationSet(
    _ request: Ranktrail_Evaluation_V1_ExportEvaluationSetRequest,
    options: CallOptions = .defaults,
    onContent: @escaping @Sendable (Data) async throws -> Void
  ) async throws {
    try await decodingRefusals {
      try await evaluation.exportEvaluationSet(request, options: options) { response in
        for try await part in response.messages {
          try await onContent(part.content)
        }
      }
    }
  }

  /// Hands over each change of a Run's state until `onChange` returns false or the task is cancelled.
  ///
  /// The first message has no Run: it says that the watch is in place.
  public func watchRetrievalRuns(
    _ request: Ranktrail_History_V1_WatchRetrievalRunsRequest,
    options: CallOptions = .defaults,
    onChange: @escaping @Sendable (Ranktrail_History_V1_WatchRetrievalRunsResponse) async throws -> Bool
  ) async throws {
    try await decodingRefusals {
      try await history.watchRetrievalRuns(request, options: options) { response in
        for try await change in response.messages {
          guard try await onChange(change) else { return }
        }
      }
    }
  }
}

/// Runs `body` with a client of the services whose sockets are below a data directory's `run`.
public func withRanktrailClient<Result: Sendable>(
  dataDirectory: URL,
  _ body: (RanktrailClient<HTTP2ClientTransport.Posix>) async throws -> Result
) async throws -> Result {
  let sockets = dataDirectory.appendingPathComponent("run")
  return try await withGRPCClient(transport: socketTransport(sockets, "ranker")) { ranker in
    try await withGRPCClient(transport: socketTransport(sockets, "history")) { history in
      try await body(RanktrailClient(ranker: ranker, history: history))
    }
  }
}

private func socketTransport(_ sockets: URL, _ service: String) throws -> HTTP2ClientTransport.Posix {
  let path = sockets.appendingPathComponent("\(service).sock").path
  return try .http2NIOPosix(
    // The authority only fills a header; a path is none.
    target: .unixDomainSocket(path: path, authority: "localhost"),
    transportSecurity: .plaintext
  )
}
