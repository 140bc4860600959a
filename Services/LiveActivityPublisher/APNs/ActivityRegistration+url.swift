import Bus

extension ActivityRegistration.Environment {
    /// Where APNs takes pushes for tokens of the environment.
    var url: String {
        switch self {
        case .production: "https://api.push.apple.com"
        case .sandbox: "https://api.sandbox.push.apple.com"
        }
    }
}
