import Crypto
import Foundation
import ServiceKit
import Workouts

/// Devices that `compose/user pair` has made and whose browser is yet to come: a file each, whose name is the SHA-256 of
/// the link's token and whose content the token opens.
struct Pairings: Sendable {
    struct Pairing: Codable, Equatable, Sendable {
        let user: String
        let device: String
        let password: String
        /// When the link is over.
        let until: Timestamp
    }

    private static let tokenLength = 64

    let folder: String

    /// The device that a token is for; `nil` if it is unknown, used or over.
    ///
    /// - Parameter takes: whether the token is used up by this. Of two dashboards that try at once, one has it.
    func pairing(_ token: String, takes: Bool, at now: Timestamp) -> Pairing? {
        guard token.utf8.count == Self.tokenLength, let keys = LoginKeys(token) else { return nil }
        let path = "\(folder)/\(Self.name(of: token))"
        guard let text = try? String(contentsOfFile: path, encoding: .utf8),
            let pairing = keys.open(Pairing.self, text, for: "pairing"), now < pairing.until,
            !takes || unlink(path) == 0
        else { return nil }
        return pairing
    }

    /// The name of its file.
    static func name(of token: String) -> String { SHA256.hash(data: Data(token.utf8)).hexDigits }
}
