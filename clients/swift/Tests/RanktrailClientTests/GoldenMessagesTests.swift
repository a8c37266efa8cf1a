import Foundation
import RanktrailClient
import SwiftProtobuf
import Testing

@Suite("Golden messages")
struct GoldenMessagesTests {
  @Test("Every message type of the index is known here")
  func everyTypeIsKnown() throws {
    #expect(try Set(GoldenMessages.index().keys) == Set(goldenTypes.keys))
  }

  @Test("Binary is decoded and encoded again byte for byte", arguments: goldenTypes.keys.sorted())
  func binary(type: String) throws {
    let names = try #require(try GoldenMessages.index()[type])
    let messages = try GoldenMessages.binary(type)
    #expect(messages.count == names.count)
    for (name, bytes) in zip(names, messages) {
      let message = try decoded(type, bytes)
      #expect(try encoded(message) == bytes, "\(name)")
    }
  }

  @Test("JSON holds the message without its unknown fields", arguments: goldenTypes.keys.sorted())
  func json(type: String) throws {
    let kind = try #require(goldenTypes[type])
    for (line, bytes) in zip(try GoldenMessages.json(type), try GoldenMessages.binary(type)) {
      let known = try decoded(type, bytes, discardingUnknownFields: true)
      #expect(try encoded(kind.init(jsonString: line)) == encoded(known))
      #expect(try canonical(known.jsonString()) == canonical(line))
    }
  }

  private func decoded(
    _ type: String, _ bytes: [UInt8], discardingUnknownFields: Bool = false
  ) throws -> any SwiftProtobuf.Message {
    var options = BinaryDecodingOptions()
    options.discardUnknownFields = discardingUnknownFields
    let kind = try #require(goldenTypes[type])
    return try kind.init(serializedBytes: bytes, options: options)
  }

  private func encoded(_ message: any SwiftProtobuf.Message) throws -> [UInt8] {
    var options = BinaryEncodingOptions()
    options.useDeterministicOrdering = true
    return try message.serializedBytes(options: options)
  }

  /// JSON written anew, so that the order of keys and the spelling of numbers do not matter.
  private func canonical(_ json: String) throws -> Data {
    let object = try JSONSerialization.jsonObject(with: Data(json.utf8))
    return try JSONSerialization.data(withJSONObject: object, options: [.sortedKeys])
  }
}
