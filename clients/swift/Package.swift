// swift-tools-version: 6.1
import PackageDescription

let package = Package(
  name: "ranktrail-client",
  platforms: [.macOS(.v15)],
  products: [
    .library(name: "RanktrailClient", targets: ["RanktrailClient"])
  ],
  dependencies: [
    .package(url: "https://github.com/grpc/grpc-swift-2.git", from: "2.0.0"),
    .package(url: "https://github.com/grpc/grpc-swift-nio-transport.git", from: "2.0.0"),
    .package(url: "https://github.com/grpc/grpc-swift-protobuf.git", from: "2.0.0"),
    .package(url: "https://github.com/apple/swift-protobuf.git", from: "1.31.0"),
  ],
  targets: [
    .target(
      name: "RanktrailClient",
      dependencies: [
        .product(name: "GRPCCore", package: "grpc-swift-2"),
        .product(name: "GRPCNIOTransportHTTP2", package: "grpc-swift-nio-transport"),
        .product(name: "GRPCProtobuf", package: "grpc-swift-protobuf"),
        .product(name: "SwiftProtobuf", package: "swift-protobuf"),
      ],
      plugins: [
        .plugin(name: "GRPCProtobufGenerator", package: "grpc-swift-protobuf")
      ]
    ),
    .testTarget(
      name: "RanktrailClientTests",
      dependencies: [
        "RanktrailClient",
        .product(name: "SwiftProtobuf", package: "swift-protobuf"),
      ]
    ),
  ],
  swiftLanguageModes: [.v6]
)
