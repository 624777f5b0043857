// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

/// Behaves as USDC does (ERC-20, EIP-3009, EIP-2612), on chains that live in a test.
/// No constructor and no immutables, so that its runtime code can stand at any address.
/// It reverts with the words of the real one, which facilitators know.
/// LocalUSDC.json is what `solc --abi --bin-runtime` makes of it (0.8.37, optimised).
contract LocalUSDC {
    string public name;
    string public version;
    string public constant symbol = "USDC";
    uint8 public constant decimals = 6;
    uint256 public totalSupply;
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;
    mapping(address => mapping(bytes32 => bool)) private _auth;
    mapping(address => uint256) public nonces;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);
    event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce);

    bytes32 public constant TRANSFER_WITH_AUTHORIZATION_TYPEHASH = keccak256(
        "TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)");
    bytes32 public constant PERMIT_TYPEHASH = keccak256(
        "Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)");

    function init(string calldata n, string calldata v) external { name = n; version = v; }
    function mint(address to, uint256 v) external { totalSupply += v; balanceOf[to] += v; emit Transfer(address(0), to, v); }

    function DOMAIN_SEPARATOR() public view returns (bytes32) {
        return keccak256(abi.encode(
            keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"),
            keccak256(bytes(name)), keccak256(bytes(version)), block.chainid, address(this)));
    }
    function authorizationState(address a, bytes32 n) external view returns (bool) { return _auth[a][n]; }

    function transfer(address to, uint256 v) external returns (bool) { _transfer(msg.sender, to, v); return true; }
    function approve(address s, uint256 v) external returns (bool) { allowance[msg.sender][s] = v; emit Approval(msg.sender, s, v); return true; }
    function transferFrom(address f, address t, uint256 v) external returns (bool) {
        uint256 a = allowance[f][msg.sender];
        require(a >= v, "ERC20: transfer amount exceeds allowance");
        if (a != type(uint256).max) allowance[f][msg.sender] = a - v;
        _transfer(f, t, v); return true;
    }
    function permit(address o, address s, uint256 v, uint256 dl, uint8 pv, bytes32 r, bytes32 ss) external {
        require(dl >= block.timestamp, "FiatTokenV2: permit is expired");
        bytes32 h = keccak256(abi.encode(PERMIT_TYPEHASH, o, s, v, nonces[o]++, dl));
        require(_recover(h, pv, r, ss) == o && o != address(0), "EIP2612: invalid signature");
        allowance[o][s] = v; emit Approval(o, s, v);
    }
    function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter,
        uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s) external {
        _twa(from, to, value, validAfter, validBefore, nonce, v, r, s);
    }
    function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter,
        uint256 validBefore, bytes32 nonce, bytes calldata sig) external {
        require(sig.length == 65, "ECRecover: invalid signature length");
        _twa(from, to, value, validAfter, validBefore, nonce, uint8(sig[64]), bytes32(sig[0:32]), bytes32(sig[32:64]));
    }
    function _twa(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore,
        bytes32 nonce, uint8 v, bytes32 r, bytes32 s) internal {
        require(block.timestamp > validAfter, "FiatTokenV2: authorization is not yet valid");
        require(block.timestamp < validBefore, "FiatTokenV2: authorization is expired");
        require(!_auth[from][nonce], "FiatTokenV2: authorization is used or canceled");
        bytes32 h = keccak256(abi.encode(TRANSFER_WITH_AUTHORIZATION_TYPEHASH, from, to, value, validAfter, validBefore, nonce));
        require(_recover(h, v, r, s) == from && from != address(0), "FiatTokenV2: invalid signature");
        _auth[from][nonce] = true;
        emit AuthorizationUsed(from, nonce);
        _transfer(from, to, value);
    }
    function _recover(bytes32 h, uint8 v, bytes32 r, bytes32 s) internal view returns (address) {
        return ecrecover(keccak256(abi.encodePacked("\x19\x01", DOMAIN_SEPARATOR(), h)), v, r, s);
    }
    function _transfer(address f, address t, uint256 v) internal {
        require(balanceOf[f] >= v, "ERC20: transfer amount exceeds balance");
        unchecked { balanceOf[f] -= v; balanceOf[t] += v; }
        emit Transfer(f, t, v);
    }
}
