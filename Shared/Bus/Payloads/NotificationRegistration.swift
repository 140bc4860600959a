package import Workouts

/// A device's registration for the user's notifications, on `notifications/register`. The answer goes to `replies`.
package struct NotificationRegistration: Equatable, Sendable {
    package enum Action: Equatable, Sendable {
        /// Registers the app's device token and replaces the device's previous one.
        case register(token: String, environment: ActivityRegistration.Environment)
        /// Removes the device's token: notifications are not allowed or no longer wanted, or the user signs out.
        case withdraw
    }

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

extension NotificationRegistration: Codable {
    private enum Key: String, CodingKey {
        case id, client, device, enabled, token, environment
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
            token: try container.pushToken(forKey: .token),
            environment: try container.decode(ActivityRegistration.Environment.self, forKey: .environment))
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(id, forKey: .id)
        try container.encodeIfPresent(client, forKey: .client)
        try container.encode(device, forKey: .device)
        switch action {
        case .register(let token, let environment):
            try container.encode(true, forKey: .enabled)
            try container.encode(token, forKey: .token)
            try container.encode(environment, forKey: .environment)
        case .withdraw: try container.encode(false, forKey: .enabled)
        }
    }
}
