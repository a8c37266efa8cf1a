import Foundation
import SwiftProtobuf

/// The golden messages of the repository that this package stands in.
enum GoldenMessages {
  static let directory = URL(fileURLWithPath: #filePath)
    .appendingPathComponent("../../../../../tests/golden/messages").standardizedFileURL

  /// The names of the instances of each message type.
  static func index() throws -> [String: [String]] {
    let data = try Data(contentsOf: directory.appendingPathComponent("index.json"))
    return try JSONDecoder().decode([String: [String]].self, from: data)
  }

  /// The bytes of each instance, in the order of the index.
  static func binary(_ type: String) throws -> [[UInt8]] {
    let bytes = [UInt8](try Data(contentsOf: directory.appendingPathComponent("\(type).binpb")))
    var messages: [[UInt8]] = []
    var position = 0
    while position < bytes.count {
      let size = varint(bytes, &position)
      messages.append(Array(bytes[position..<position + size]))
      position += size
    }
    return messages
  }

  /// The proto JSON of each instance.
  static func json(_ type: String) throws -> [String] {
    let text = try String(contentsOf: directory.appendingPathComponent("\(type).jsonl"), encoding: .utf8)
    return text.split(separator: "\n").map(String.init)
  }

  private static func varint(_ bytes: [UInt8], _ position: inout Int) -> Int {
    var value = 0
    var shift = 0
    while true {
      let byte = Int(bytes[position])
      position += 1
      value |= (byte & 0x7F) << shift
      if byte < 0x80 { return value }
      shift += 7
    }
  }
}
