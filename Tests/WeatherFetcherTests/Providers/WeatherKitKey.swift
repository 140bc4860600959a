import Foundation
import JWTKit
import TestSupport

@testable import WeatherFetcher

/// A key file in Apple's format, and an independent check of its signatures.
final class WeatherKitKey: Sendable {
    struct Token: Decodable, Equatable {
        struct Header: Decodable, Equatable {
            let alg: String
            let kid: String
            let id: String
        }

        struct Claims: Decodable, Equatable {
            let iss: String
            let iat: Int
            let exp: Int
            let sub: String
        }

        let header: Header
        let claims: Claims
    }

    let path: String
    private let folder: TemporaryFolder

    init() async throws {
        folder = try TemporaryFolder()
        path = folder.file("AuthKey.p8")
        _ = try await Self.run(["make", path])
    }

    func account() throws -> WeatherKitAccount {
        WeatherKitAccount(
            team: "TEAM123456", service: "org.example.weather", keyID: "KEY1234567",
            key: try ES256PrivateKey(pem: try String(contentsOfFile: path, encoding: .utf8)))
    }

    /// The content of a token; throws unless this key signed it.
    func verified(_ token: String) async throws -> Token {
        try JSONDecoder().decode(Token.self, from: try await Self.run(["check", path, token]))
    }

    private static func run(_ arguments: [String]) async throws -> Data {
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "weatherkit_key.py")
        return try await ChildProcess.output(
            of: [Python.interpreter, script.path(percentEncoded: false)] + arguments)
    }
}
