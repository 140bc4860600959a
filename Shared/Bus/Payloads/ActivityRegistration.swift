package import Workouts

/// A device's registration for Live Activities, on `activity/register`. The answer goes to `replies`.
package struct ActivityRegistration: Equatable, Sendable {
    /// The purpose of an APNs token.
    package enum TokenKind: String, Codable, CaseIterable, Sendable {
        /// Updates and ends an activity that the app or a push started.
        case activity
        /// Starts an activity (push to start, iOS 17.2).
        case start
    }

    package enum Environment: String, Codable, CaseIterable, Sendable {
        case production, sandbox
    }

    package enum Action: Equatable, Sendable {
        /// Registers a token and replaces the device's previous one of the same kind.
        case register(token: String, kind: TokenKind, environment: Environment)
        /// Live Activities are not allowed or no longer wanted. The service ends the displayed activity and removes the
        /// device's tokens.
        case withdraw
    }

    /// The accepted number of hex digits. Tokens are much shorter than the maximum.
    package static let tokenDigits = 32...512

    package var id: CommandID
    package var client: Client?
    package var device: Device
    package var action: Action

    package init(id: CommandID, client: Client?, device: Device, action: Action) {
        self.id = id
        self.client = client
        self.device = device
        self.action = action
    }
}

extension ActivityRegistration: Codable {
    private enum Key: String, CodingKey {
        case id, client, device, enabled, token, kind, environment
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        id = try container.decode(CommandID.self, forKey: .id)
        client = try container.decodeIfPresent(Client.self, forKey: .client)
        device = try container.decode(Device.self, forKey: .device)
        guard try container.decode(Bool.self, forKey: .enabled) else {
            action = .withdraw
            return
        }
        action = .register(
            token: try container.pushToken(forKey: .token), kind: try container.decode(TokenKind.self, forKey: .kind),
            environment: try container.decode(Environment.self, forKey: .environment))
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(id, forKey: .id)
        try container.encodeIfPresent(client, forKey: .client)
        try container.encode(device, forKey: .device)
        switch action {
        case .register(let token, let kind, let environment):
            try container.encode(true, forKey: .enabled)
            try container.encode(token, forKey: .token)
            try container.encode(kind, forKey: .kind)
            try container.encode(environment, forKey: .environment)
        case .withdraw: try container.encode(false, forKey: .enabled)
        }
    }
}

extension KeyedDecodingContainer {
    /// The hex digits of an APNs token, in lower case.
    func pushToken(forKey key: Key) throws -> String {
        let token = try decode(String.self, forKey: key).lowercased()
        guard ActivityRegistration.tokenDigits.contains(token.utf8.count), token.utf8.count.isMultiple(of: 2),
            token.allSatisfy(\.isHexDigit), token.utf8.count == token.count
        else {
            throw DecodingError.dataCorruptedError(
                forKey: key, in: self, debugDescription: "expected the hex digits of a token")
        }
        return token
    }
}
